"""Ctrl-C, as a real SIGINT: every engine ends soon, and with a KeyboardInterrupt."""

import json
import os
import signal
import subprocess
import sys
import threading

import numba
import pytest

from bayespoint._core.calls import guarded, interrupts_later, leave_if_asked


@pytest.fixture(autouse=True)
def _interruptible():
    """SIGINT is ignored in processes that a script starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


TRIALS = 4
SAMPLES = 10**6  # so many take hours
N_POINTS = 300
PROGRAM = """
import json, os, resource, signal, sys, threading, time, warnings
import numpy as np
from bayespoint import BayesPointClassifier, engines
from bayespoint._core import calls
from bayespoint.tools.monitor import Monitor, watch

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
warnings.simplefilter("ignore")
n_jobs, n_trials, n_samples, m = int(sys.argv[1]) or None, *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.normal(size=(m, 5))
y = (X @ rng.normal(size=(5, 3)) + 0.3 * rng.normal(size=(m, 3))).argmax(axis=1)
two, three = y == 1, y
fits = {
    "ep": ("rbf", 0, engines.ExpectationPropagation(), three),
    "sequential ep": ("rbf", 0, engines.ExpectationPropagation(), two),
    "parallel ep": ("rbf", 0, engines.ExpectationPropagation(schedule="rounds"), two),
    "diagonal ep": ("linear", 0, engines.FactorisedPropagation(), three),
    "laplace": ("rbf", 0, engines.LaplaceApproximation(), three),
    "gibbs": ("rbf", 0, engines.GibbsSampler(n_samples=n_samples), two),
    "circles": ("linear", 0, engines.GibbsSampler(n_samples=n_samples), two),
    "billiard": ("rbf", 0.1, engines.BilliardSampler(n_samples=n_samples), two),
    "perceptron": ("linear", 0, engines.PermutedPerceptron(max_epochs=10**7), three),
    "knapsack": ("linear", 0, engines.KnapsackPropagation(n_iter=10**6), three),
}

class Interrupt(Monitor):
    sender, n_calls = None, 0

    def __init__(self):
        self.ended = threading.Event()

    def begin(self, total, unit):
        if self.sender is None:
            self.sender = threading.Timer(rng.uniform(0, 0.3), self.interrupt)
            self.sender.start()

    def interrupt(self):
        while not self.ended.is_set():  # Python drops what is raised in a finaliser, rarely
            self.n_calls = 0
            os.kill(os.getpid(), signal.SIGINT)
            self.ended.wait(4)

    def count(self):
        stop_if_cancelled()
        self.n_calls += threading.current_thread() is threading.main_thread()

stop_if_cancelled = calls.stop_if_cancelled  # every compiled function calls it first
for name, (kernel, ridge, engine, labels) in fits.items():
    for _ in range(n_trials):
        monitor = Interrupt()
        calls.stop_if_cancelled = monitor.count
        try:
            with watch(monitor):
                while True:  # some of them are quick
                    BayesPointClassifier(
                        kernel=kernel, ridge=ridge, engine=engine, n_jobs=n_jobs, random_state=0
                    ).fit(X, labels)
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"
            monitor.ended.set()
        n_calls = monitor.n_calls
        for thread in threading.enumerate():
            while thread in threading.enumerate() and not thread.is_alive():
                time.sleep(0.001)  # the interrupt came while it was started
            if thread is not threading.current_thread():
                thread.join()
        print(json.dumps([name, raised, n_calls]), flush=True)
unit = 1 if sys.platform == "darwin" else 1024
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
if sys.platform == "linux":  # there, ru_maxrss is at least the memory of the process that forked
    words = open("/proc/self/status").read().split()
    memory = 1024 * int(words[words.index("VmHWM:") + 1])
print(json.dumps(["memory", "", memory]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for a single process")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupt_ends_a_fit(n_jobs):
    """The thread that hears the signal calls hardly a compiled function more; they are short.

    Nor does anything else take long: the memory of samples is taken as they are drawn. That other
    threads end then is tested with pools.
    """
    command = [sys.executable, "-c", PROGRAM, *map(str, (n_jobs or 0, TRIALS, SAMPLES, N_POINTS))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *trials, (_, _, memory) = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(trials) == 10 * TRIALS
    for name, raised, n_calls in trials:
        assert raised == "KeyboardInterrupt: ", name
        assert n_calls <= 2, name
    assert memory < 8 * SAMPLES * N_POINTS / 2


# The guard of compiled functions -----------------------------------------------------------------


def test_a_compiled_call_is_not_interrupted():
    done = []

    def call():
        signal.raise_signal(signal.SIGINT)  # as if Numba ran a little Python
        done.append("all")

    with pytest.raises(KeyboardInterrupt):
        guarded(call)()
    assert done == ["all"]


def test_an_error_of_a_compiled_call_is_told_and_an_interrupt_too():
    def call(interrupt):
        if interrupt:
            signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guarded(call)(False)
    with pytest.raises(KeyboardInterrupt) as caught:
        guarded(call)(True)
    assert isinstance(caught.value.__context__, ZeroDivisionError)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_handlers_that_are_not_functions_stay(handler):
    signal.signal(signal.SIGINT, handler)
    with interrupts_later():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_interrupts_wait_until_a_function_is_compiled():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_later():
        signal.raise_signal(signal.SIGINT)
        done.append("all")
    assert done == ["all"]
    with pytest.raises(KeyboardInterrupt):  # and no longer
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not interrupted")


def test_an_interrupted_first_call_of_a_compiled_function_leaves_nothing_half_compiled(monkeypatch):
    seen = []
    function = numba.njit(lambda x: x + 1)
    inside = guarded(function)
    compile_it = type(function).compile

    def compile_and_interrupt(self, signature):
        signal.raise_signal(signal.SIGINT)
        seen.append(signature)
        return compile_it(self, signature)

    with monkeypatch.context() as patch:
        patch.setattr(type(function), "compile", compile_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            inside(1)
    assert seen  # the interrupt came at the next pass of the compiler, and left nothing half done
    assert inside(1) == 2


def test_an_interrupt_waits_for_the_outermost_block():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_later():
        assert guarded(signal.raise_signal)(signal.SIGINT) is None
        with interrupts_later():
            leave_if_asked()  # such as a pass of the compiler: the outer block goes on
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt), interrupts_later():  # the next one is its own
        signal.raise_signal(signal.SIGINT)


def test_other_threads_leave_the_handler_alone():
    handler, seen = signal.getsignal(signal.SIGINT), []

    def run():
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [handler]
