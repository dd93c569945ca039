// How the error fell: a line with its interval, drawn as SVG.

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 260, HEIGHT = 72, EDGE = 3;

function shape(name, attributes) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// Points are [labels, error, low, high], in the order in which they came.
export function chart(points) {
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img" });
  const first = points[0][0], last = points.at(-1)[0];
  svg.setAttribute("aria-label", `The error with ${first} to ${last} labels`);
  const counts = points.map(point => point[0]);
  const low = Math.min(...counts), high = Math.max(...counts);
  const top = Math.max(...points.map(point => point[3]), 0.01);
  const x = n => EDGE + (WIDTH - 2 * EDGE) * (high > low ? (n - low) / (high - low) : 1);
  const y = value => HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value / top;
  const line = column => points.map(point => `${x(point[0]).toFixed(1)},${y(point[column]).toFixed(1)}`);
  svg.append(
    shape("polygon", { class: "band", points: [...line(3), ...line(2).reverse()].join(" ") }),
    shape("line", { class: "axis", x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }),
    shape("polyline", { class: "line", points: line(1).join(" ") }),
    shape("circle", { class: "dot", cx: x(last), cy: y(points.at(-1)[1]), r: 3 }),
  );
  return svg;
}
