/* SPDX-License-Identifier: Apache-2.0 */
/* What the page does beyond being read: sorting, a filter, values under the
 * pointer. Nothing of it is needed to see a row. Texts of the page are put
 * back as texts alone, never as markup. */
"use strict";
(function () {
  function all(selector, root) {
    return Array.from((root || document).querySelectorAll(selector));
  }
  function make(name, attributes, text) {
    var element = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) {
      element.setAttribute(key, attributes[key]);
    });
    if (text) element.textContent = text;
    return element;
  }

  /* Sorting: by the number a cell carries, else by its text; what has neither
   * comes last either way. */
  function key(row, column) {
    var cell = row.cells[column];
    var number = cell.getAttribute("data-v");
    var text = cell.textContent.trim();
    return number !== null ? Number(number) : text === "-" ? null : text;
  }
  function order(a, b) {
    return typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function sort(table, head) {
    var down = head.getAttribute("aria-sort") === "ascending";
    var body = table.tBodies[0];
    var rows = Array.from(body.rows).map(function (row) {
      return { row: row, key: key(row, head.cellIndex) };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null)
        return (a.key === null) - (b.key === null);
      return down ? order(b.key, a.key) : order(a.key, b.key);
    });
    all("th", table.tHead).forEach(function (other) {
      other.removeAttribute("aria-sort");
    });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.forEach(function (entry) { body.appendChild(entry.row); });
  }
  all("table.rows, table.beside").forEach(function (table) {
    if (table.tBodies[0].rows.length < 3) return;
    all("th", table.tHead).forEach(function (head) {
      var button = make("button", { type: "button" }, head.textContent);
      button.addEventListener("click", function () { sort(table, head); });
      head.replaceChildren(button);
    });
  });

  /* The filter: words that a row must have, and its verdict. */
  function addFilter(section) {
    var rows = all("table.rows > tbody > tr", section);
    var counts = new Map();
    rows.forEach(function (row) {
      var verdict = row.getAttribute("data-verdict");
      if (verdict) counts.set(verdict, (counts.get(verdict) || 0) + 1);
    });
    var form = make("form", { "class": "filter", role: "search" });
    var text = make("input", { type: "search", size: "24", autocomplete: "off",
      placeholder: "gemm f16" });
    var verdicts = make("select");
    var told = make("output", { "aria-live": "polite" });
    verdicts.add(new Option("any verdict", ""));
    counts.forEach(function (n, verdict) {
      verdicts.add(new Option(verdict + " (" + n + ")", verdict));
    });
    var label = make("label", {}, "Rows with ");
    label.append(text);
    form.append(label);
    if (counts.size > 0) {
      label = make("label", {}, "Verdict ");
      label.append(verdicts);
      form.append(label);
    }
    form.append(told);
    section.querySelector("h2").after(form);

    var texts = null;
    function apply() {
      var words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      var shown = 0;
      texts = texts || rows.map(function (row) {
        var title = row.closest("section").querySelector("h3");
        return [title ? title.textContent : "", row.cells[0].title,
          row.textContent].join(" ").toLowerCase();
      });
      rows.forEach(function (row, i) {
        var fits = (!verdicts.value ||
                    row.getAttribute("data-verdict") === verdicts.value) &&
          words.every(function (word) { return texts[i].includes(word); });
        row.hidden = !fits;
        shown += fits;
      });
      all("section.op", section).forEach(function (op) {
        var tables = all("table.rows", op);
        var isEmpty = tables.every(function (table) {
          return all("tbody > tr:not([hidden])", table).length === 0;
        });
        op.hidden = tables.length > 0 && isEmpty;
      });
      told.textContent = shown === rows.length
        ? "" : shown + " of " + rows.length + " rows";
    }
    form.addEventListener("input", apply);
    form.addEventListener("submit", function (event) {
      event.preventDefault();
    });
  }
  var section = document.getElementById("rows");
  if (section && section.querySelector("table.rows")) addFilter(section);

  /* Values: what an element's own title says, at once and beside the pointer;
   * of a link within the page, what it leads to. */
  var tip = make("div", { "class": "tip", role: "tooltip", hidden: "" });
  document.body.append(tip);
  function words(element) {
    var title = element.querySelector(":scope > title");
    var id = element.getAttribute("href");
    var to = id && document.getElementById(id.slice(1));
    if (title) {
      element.setAttribute("data-tip", title.textContent);
      title.remove();
    }
    return element.getAttribute("data-tip") ||
      (to && to.cells
        ? Array.from(to.cells).slice(2).map(function (cell) {
            return cell.textContent;
          }).join(": ")
        : null);
  }
  function find(event) {
    var element = event.target;
    if (!element.closest) return null;
    return element.closest("td a[href^='#']") ||
      (element.closest("figure svg") &&
       element.closest("[data-tip], svg *:has(> title)"));
  }
  function show(event, x, y) {
    var element = find(event);
    var text = element && words(element);
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    var box = tip.getBoundingClientRect();
    tip.style.left =
      Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top =
      (y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16) +
      "px";
  }
  function hide() { tip.hidden = true; }
  document.addEventListener("pointermove", function (event) {
    show(event, event.clientX, event.clientY);
  });
  document.addEventListener("focusin", function (event) {
    var box = event.target.getBoundingClientRect();
    show(event, box.left, box.bottom);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") hide();
  });

  /* What was left for later so that the page opens at once. */
  var later = all("section.long");
  function layOut() {
    var section = later.shift();
    if (!section) return;
    section.classList.remove("long");
    setTimeout(layOut, 50);
  }
  addEventListener("load", function () { setTimeout(layOut, 500); });

  /* Folded parts are printed as well. */
  var folded = [];
  addEventListener("beforeprint", function () {
    folded = all("details:not([open])");
    folded.forEach(function (details) { details.open = true; });
  });
  addEventListener("afterprint", function () {
    folded.forEach(function (details) { details.open = false; });
  });
})();
