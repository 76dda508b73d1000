"""The page of --html in a real browser: clicks, keys, search, live ranges, light and dark, without a network. Speaks WebDriver to Debian's chromedriver.

    test_picture.py SINTER [FOLDER]      FOLDER receives screenshots
Skipped (77) where there is no chromedriver."""
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

sinter = sys.argv[1]
driver = shutil.which("chromedriver")
if not driver:
    print("SKIPPED: chromium-driver is not installed; scripts/setup.sh --long installs it")
    sys.exit(77)
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)


class Browser:
    def __init__(self, options):
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if "successfully on port " in line:
                self.address = f"http://127.0.0.1:{line.split('on port ')[1].split('.')[0].strip()}/session"
                break
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", *options]
        capabilities = {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}}
        try:
            self.session = self.post("", {"capabilities": capabilities})["sessionId"]
        except Exception:
            self.process.kill()
            raise

    def post(self, path, body=None, method="POST"):
        where = self.address + (f"/{self.session}" if hasattr(self, "session") else "") + path
        request = urllib.request.Request(where, json.dumps(body or {}).encode() if method == "POST" else None, {"Content-Type": "application/json"}, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def element(self, selector):
        return next(iter(self.post("/element", {"using": "css selector", "value": selector}).values()))

    def click(self, selector):
        self.post(f"/element/{self.element(selector)}/click")

    def type(self, selector, text):
        self.post(f"/element/{self.element(selector)}/value", {"text": text})

    def panel(self):
        return self.run("return document.getElementById('panel').innerText")

    def screenshot(self, name):
        (folder / name).write_bytes(base64.b64decode(self.post("/screenshot", method="GET")))

    def close(self):
        self.post("", method="DELETE")
        self.process.terminate()
        self.process.wait()


def page(name, expression, *bindings):
    path = folder / name
    subprocess.run([sinter, "kernels", expression, *bindings, "--html", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = path.read_text()
    assert "http://" not in text.replace("http://www.w3.org/", "") and "https://" not in text, "the page would load something"
    return f"file://{path}"


formula = "h = gelu(x @ w + b); m = h.mean(axis=0); y = softmax((h - m) / h.std(axis=0), axis=-1); y @ w.T, x.sum(axis=1), x.sum(axis=0)"
small = page("picture.html", formula, "x=f32[400,1024]", "w=f32[1024,300]", "b=f32[300]")
long = "; ".join(["y = x"] + [f"y = (y @ w) * {k + 2} + y" for k in range(300)] + ["y"])
large = page("large.html", long, "x=f32[64,64]", "w=f32[64,64]")

browser = Browser([])
try:
    browser.post("/url", {"url": small})
    steps = browser.run("return document.querySelectorAll('main .step').length")
    assert steps >= 4, steps
    assert "1. " in browser.panel() and "to change it" in browser.panel()
    browser.screenshot("light.png")

    # A click on a region, and on a node within it.
    browser.click("main .step[data-step='1'] > .title")
    told = browser.panel()
    assert told.startswith("2. ") and "ends" in told and "from" in told, told
    assert browser.run("return document.querySelectorAll('main .step.chosen').length") == 1
    assert browser.run("return document.querySelectorAll('#memory .chosen').length") >= 1
    nodes = "main .step[data-step='1'] .node"
    assert browser.run("return document.querySelectorAll(arguments[0]).length", nodes) > 3
    browser.click(nodes)
    assert "recorded by" in browser.panel(), browser.panel()

    # The loop nest and the source fold out.
    kernel = browser.run("return [...document.querySelectorAll('main .step.kernel')].map(group => group.dataset.step)")[0]
    browser.click(f"main .step[data-step='{kernel}'] > .title")
    browser.click("#panel details summary")
    assert "nest " in browser.run("return document.querySelector('#panel details[open] pre').innerText")

    # Search marks, Enter goes to it, Escape forgets.
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

    # Light and dark differ in what is drawn.
    colours = lambda: browser.run("return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('main .step.kernel > rect')).fill]")
    light = colours()
    browser.click("#theme")
    dark = colours()
    assert light[0] != dark[0] and light[1] != dark[1], (light, dark)
    browser.screenshot("dark.png")
    browser.click("#theme")
    assert colours() == light

    # On a phone the parts lie below each other, and nothing is wider than the screen.
    browser.post("/window/rect", {"width": 500, "height": 900})
    assert browser.run("return document.querySelector('main').getBoundingClientRect().width <= innerWidth")
    browser.screenshot("phone.png")
    browser.post("/window/rect", {"width": 1400, "height": 1000})

    # Thousands of nodes.
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
