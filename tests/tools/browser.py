"""Controls a headless Chromium by WebDriver, through Debian's chromedriver."""
import base64
import json
import subprocess
import urllib.request


class Browser:
    def __init__(self, options):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.post("/screenshot", method="GET")))

    def close(self):
        self.post("", method="DELETE")
        self.process.terminate()
        self.process.wait()
