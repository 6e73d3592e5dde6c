// Values under the pointer. The page is whole without it.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const nearest = (xs, x) => {
    let low = 0, high = xs.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (xs[middle] > x) high = middle; else low = middle;
    }
    return x - xs[low] < xs[high] - x ? low : high;
  };
  for (const svg of document.querySelectorAll(".chart svg")) {
    const { left, right, least, most } = svg.dataset;
    const lines = [...svg.querySelectorAll(".line")].map(path => ({
      name: path.dataset.name, x: path.dataset.x.split(" ").map(Number), y: path.dataset.y.split(" ") }));
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
    cursor.setAttribute("class", "cursor");
    const leave = () => { tip.hidden = true; cursor.remove(); };
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("pointermove", event => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const share = ((event.clientX - box.left) * scale - left) / (right - left);
      if (share < -0.02 || share > 1.02 || !lines.length) return leave();
      const x = +least + share * (most - least);
      const rows = lines.map(line => ({ line, i: nearest(line.x, x) }));
      const at = rows.map(row => row.line.x[row.i]).reduce((a, b) => Math.abs(b - x) < Math.abs(a - x) ? b : a);
      const px = +left + (at - least) / (most - least) * (right - left);
      for (const [key, value] of Object.entries({ x1: px, x2: px, y1: 10, y2: svg.viewBox.baseVal.height - 34 })) cursor.setAttribute(key, value);
      svg.append(cursor);
      tip.textContent = +at.toPrecision(5) + "\n" + rows.filter(row => row.line.x[row.i] === at)
        .map(row => row.line.name + "  " + +(+row.line.y[row.i]).toPrecision(5)).join("\n");
      tip.hidden = false;
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6)) + "px";
      tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + "px";
    });
  }
})();
