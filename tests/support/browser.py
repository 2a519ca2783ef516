"""A headless Chromium for tests, and what a page asked for and complained about."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

__all__ = ["Browser", "Keys"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Browser:
    """Opens pages, presses keys, runs scripts; `HLOMAP_CHROMIUM` is the binary where it has another name."""

    def __init__(self) -> None:
        binary = os.environ.get("HLOMAP_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
        if binary is None:
            raise FileNotFoundError(
                "tests with the marker `browser` need Chromium: apt-get install chromium chromium-driver"
            )
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-proxy-server",
        ):  # fmt: skip
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = shutil.which("chromedriver")
        self.driver = webdriver.Chrome(options=options, service=Service(driver) if driver else Service())
        self.resize(1440, 900)

    def close(self) -> None:
        """Ends the browser."""
        self.driver.quit()

    def resize(self, width: int, height: int) -> None:
        """Sets the size of the page in pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """Sets the preferred colours: `light` or `dark`."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def open(self, text: str, folder: Path) -> None:
        """Writes a page to a file and opens it."""
        file = folder / "page.html"
        file.write_text(text, encoding="utf-8", newline="\n")
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get("about:blank")
        self.driver.get(file.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of the body of a function in the page."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: Any) -> Any:
        """The value with which the body of a function calls `done`."""
        self.driver.set_script_timeout(60)
        return self.driver.execute_async_script(f"const done = arguments[arguments.length - 1];{script}", *arguments)

    def frame(self) -> None:
        """Waits for two frames."""
        self.wait("requestAnimationFrame(() => requestAnimationFrame(done))")

    def press(self, *keys: str) -> None:
        """Presses keys where the focus is, and waits for the frame."""
        webdriver.ActionChains(self.driver, duration=0).send_keys(*keys).perform()
        self.frame()

    def find(self, selector: str) -> Any:
        """The first element of a CSS selector."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """The text of the first element of a CSS selector, shown or not."""
        return str(self.find(selector).get_property("textContent"))

    def hover(self, selector: str, x: float, y: float) -> None:
        """Moves the pointer to a point of an element, counted from its upper left corner."""
        box = self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'nearest'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top]",
            selector,
        )
        actions = webdriver.ActionChains(self.driver, duration=0)
        actions.w3c_actions.pointer_action.move_to_location(int(box[0] + x), int(box[1] + y))
        actions.perform()
        self.frame()

    @property
    def complaints(self) -> list[str]:
        """The messages of the console, those about the policy included."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @property
    def requests(self) -> list[str]:
        """Everything that the page asked for since it was opened, but for the page itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("file:") or not url.split("#")[0].endswith("/page.html")]
