"""Tests the page of --html in a real browser: clicks, keys, search, live ranges, light and dark, without a network.

    test_picture.py SINTER [FOLDER]      FOLDER receives screenshots
Skipped (77) where there is no chromedriver."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from browser import Browser

sinter = sys.argv[1]
if not shutil.which("chromedriver"):
    print("SKIPPED: chromium-driver is not installed; scripts/setup.sh --long installs it")
    sys.exit(77)
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)


def page(name, expression, *bindings):
    path = folder / name
    subprocess.run([sinter, "kernels", expression, *bindings, "--html", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = path.read_text()
    assert "http://" not in text.replace("http://www.w3.org/", "") and "https://" not in text, "the page would load something"
    return f"file://{path}"


formula = "h = gelu(x @ w + b); m = h.mean(axis=0); y = softmax((h - m) / h.std(axis=0), axis=-1); y @ w.T, x.sum(axis=1), x.sum(axis=0)"
small = page("picture.html", formula, "x=f32[400,1024]", "w=f32[1024,300]", "b=f32[300]")
long = "; ".join(["y = x"] + [f"y = (y @ w) * {k + 2} + y" for k in range(2500)] + ["y"])
large = page("large.html", long, "x=f32[64,64]", "w=f32[64,64]")

browser = Browser([])
try:
    browser.post("/url", {"url": small})
    steps = browser.run("return document.querySelectorAll('main .step').length")
    assert steps >= 4, steps
    assert "1. " in browser.panel() and "to change it" in browser.panel()
    browser.screenshot(folder / "light.png")

    # A click on a region, and on a node within it.
    browser.click("main .step[data-step='1'] > .title")
    panel = browser.panel()
    assert panel.startswith("2. ") and "split" in panel and "from" in panel, panel
    assert browser.run("return document.querySelectorAll('main .step.chosen').length") == 1
    assert browser.run("return document.querySelectorAll('#memory .chosen').length") >= 1
    nodes = "main .step[data-step='1'] .node"
    assert browser.run("return document.querySelectorAll(arguments[0]).length", nodes) > 3
    browser.click(nodes)
    assert "recorded by" in browser.panel(), browser.panel()

    # The loop nest and the source can be unfolded.
    kernel = browser.run("return [...document.querySelectorAll('main .step.kernel')].map(group => group.dataset.step)")[0]
    browser.click(f"main .step[data-step='{kernel}'] > .title")
    browser.click("#panel details summary")
    assert "nest " in browser.run("return document.querySelector('#panel details[open] pre').innerText")

    # The search marks a result, Enter goes to it, Escape clears the search.
    browser.type("#search", "softmax")
    found = browser.run("return document.querySelectorAll('main .step.found').length")
    assert 1 <= found < steps, found
    browser.type("#search", "\ue007")
    assert "softmax" in browser.panel().lower()
    browser.type("#search", "\ue00c")
    assert browser.run("return document.querySelectorAll('main .found').length") == 0

    # Keys go from step to step.
    browser.run("document.activeElement.blur()")
    browser.click("main .step[data-step='0'] > .title")
    for key, expected in (("\ue015", "2. "), ("j", "3. "), ("\ue013", "2. ")):
        browser.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})
        assert browser.panel().startswith(expected), (key, browser.panel()[:40])

    # The light and the dark theme have different colours.
    colours = lambda: browser.run("return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('main .step.kernel > rect')).fill]")
    light = colours()
    browser.click("#theme")
    dark = colours()
    assert light[0] != dark[0] and light[1] != dark[1], (light, dark)
    browser.screenshot(folder / "dark.png")
    browser.click("#theme")
    assert colours() == light

    # On a phone the parts are below each other, and nothing is wider than the screen.
    browser.post("/window/rect", {"width": 500, "height": 900})
    assert browser.run("return document.querySelector('main').getBoundingClientRect().width <= innerWidth")
    browser.screenshot(folder / "phone.png")
    browser.post("/window/rect", {"width": 1400, "height": 1000})

    # A page with thousands of nodes works.
    start = time.monotonic()
    browser.post("/url", {"url": large})
    browser.click("main .step[data-step='30'] > .title")
    assert browser.panel().startswith("31. ")
    print(f"a page of {browser.run('return data.plans[0].nodes.length')} nodes was shown and clicked in {time.monotonic() - start:.1f} s")
    assert browser.run("return document.querySelectorAll('main .step').length") >= 300
    errors = [entry["message"] for entry in browser.post("/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]
    assert not errors, errors
finally:
    browser.close()
print("good")
