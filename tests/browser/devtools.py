# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chromium, driven by its DevTools protocol."""

import base64
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class Socket:
    """A WebSocket connection to a server on this machine, for text (RFC 6455)."""

    def __init__(self, url, seconds=300):
        host, port, path = re.fullmatch(r"ws://([^:/]+):(\d+)(/.*)", url).groups()
        self.socket = socket.create_connection((host, int(port)), timeout=seconds)
        key = base64.b64encode(os.urandom(16)).decode("ascii")
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode("ascii"))
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"no WebSocket: {head!r}")

    def _fill(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the browser closed the connection")
        self.buffer += data

    def _take(self, size):
        while len(self.buffer) < size:
            self._fill()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def send(self, text):
        data, mask = text.encode("utf-8"), os.urandom(4)
        size = len(data)
        head = (bytes([0x81, 0x80 | size]) if size < 126 else
                struct.pack(">BBH", 0x81, 0x80 | 126, size) if size < 1 << 16 else
                struct.pack(">BBQ", 0x81, 0x80 | 127, size))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        """The next message, as text; frames that are not text are left out."""
        whole = b""
        while True:
            first, second = self._take(2)
            size = second & 0x7f
            if size == 126:
                size, = struct.unpack(">H", self._take(2))
            elif size == 127:
                size, = struct.unpack(">Q", self._take(8))
            data = self._take(size)
            if first & 0x0f in (0, 1):
                whole += data
                if first & 0x80:
                    return whole.decode("utf-8")

    def close(self):
        self.socket.close()


class Browser:
    """A Chromium without a window, and one page in it. Errors of the page are kept in errors."""

    def __init__(self):
        program = shutil.which("chromium")
        if not program:
            raise FileNotFoundError("chromium is needed (Debian package chromium)")
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self.folder.name}",
             "--no-first-run", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-quic", "--disable-extensions",
             *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number = 0
        self.errors = []
        self.events = []
        self.socket = Socket(self._page_address())
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        # Elements get the focus as in a window that is in front.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def _page_address(self):
        file, end = pathlib.Path(self.folder.name) / "DevToolsActivePort", time.monotonic() + 60
        while time.monotonic() < end:
            if file.exists() and len(file.read_text("ascii").split()) == 2:
                port = file.read_text("ascii").split()[0]
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                    pages = [t for t in json.load(answer) if t["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            time.sleep(0.05)
        raise TimeoutError("chromium does not start")

    def _note(self, message):
        self.events.append(message)
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.errors.append(values["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.errors.append(str(values["args"]))

    def call(self, method, **values):
        """Call a method of the protocol, and return its result."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": values}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") != self.number:
                self._note(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def run(self, script):
        """The value of an expression in the page; a promise's if it is one."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait(self, script, seconds=60):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}; errors: {self.errors}")
            time.sleep(0.02)
        return value

    def screen(self, width, height=900, dark=False, scale=1):
        """Set the size of the page, and its colors."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 500)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        """Open an address; returns when the document is loaded. Requests for other addresses are in events."""
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=str(address))
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'")

    def requests(self):
        """The addresses that were asked for since the last open()."""
        self.run("0")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, path, is_still=False):
        """Write a PNG of what is in sight; without scripts, the page is still."""
        if not is_still:
            self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def key(self, name, **more):
        """Press a key."""
        code = {"Enter": 13, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(name, 0)
        text = {"text": "\r"} if name == "Enter" else {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code, **more)

    def mouse(self, kind, x, y, **more):
        """Send an event of the mouse: mouseMoved, mousePressed, mouseReleased, mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def processes(self):
        """The folders in /proc of the browser's processes."""
        found, left = [], [self.process.pid]
        while left:
            pid = left.pop()
            found.append(pathlib.Path(f"/proc/{pid}"))
            for task in found[-1].glob("task/*/children"):
                left += map(int, task.read_text("ascii").split())
        return found

    def close(self):
        try:
            self.call("Browser.close")
        except (ConnectionError, OSError):
            pass
        self.socket.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
