"""A browser that tests drive: keys, clicks, screen sizes, and what the page shows.

Speaks the DevTools protocol over a pipe, with the standard library alone.
"""

import base64
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

from tests.helpers.pages import FLAGS

# The browser reads from descriptor 3 and writes to 4. Both are copied out of the way first.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3); os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {" ": ("Space", 32), "Backspace": ("Backspace", 8), "Enter": ("Enter", 13)}


class Browser:
    """A headless browser; use it in a ``with`` statement."""

    def __init__(self, program):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, self._commands = os.pipe()
        self._answers, writes = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self._folder.name}/profile", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(reads), str(writes), program, *flags],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._number, self._waiting = 0, {}
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self._commands)  # the browser ends when nobody can speak to it
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)
        self._folder.cleanup()

    def kill(self):
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def call(self, method, session=None, **parameters):
        """Call a method of the protocol, and return its result."""
        self._number += 1
        waiting = self._waiting[self._number] = queue.Queue()
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        answer = waiting.get(timeout=60)
        assert "error" not in answer, answer
        return answer["result"]

    def tab(self, address):
        """A new tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, target)
        tab.resize(1280, 900)
        tab.go(address)
        return tab

    def _listen(self):
        rest = b""
        while True:
            try:
                read = os.read(self._answers, 1 << 20)
            except OSError:
                return
            if not read:
                return
            *messages, rest = (rest + read).split(b"\0")
            for message in map(json.loads, messages):
                if message.get("id") in self._waiting:
                    self._waiting.pop(message["id"]).put(message)


class Tab:
    """One tab."""

    def __init__(self, browser, session, target):
        self._browser, self._session, self._target = browser, session, target
        self.call("Page.enable")

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def go(self, address):
        self.call("Page.navigate", url=address)

    def resize(self, width, height=900, mobile=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def dark(self, is_dark):
        feature = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def js(self, expression):
        """The value of a JavaScript expression; waits for promises."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression, seconds=60):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.js(expression)
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {expression}; the page says: {self.text()[:2000]}")

    def text(self, selector="body"):
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def press(self, key):
        """Press and release a key."""
        code, number = KEYS.get(key, ("", ord(key[0].upper())))
        event = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        text = {"text": "\r" if key == "Enter" else key} if key != "Backspace" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, selector):
        """Click the middle of an element with the mouse."""
        x, y = self.js(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); "
            f"return [r.x + r.width / 2, r.y + r.height / 2] }})"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        """A picture of what the screen shows."""
        found = self.call("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
