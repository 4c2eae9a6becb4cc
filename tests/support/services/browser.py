"""A real Chromium without a window, light or dark; it takes pictures of whole pages and says what a page complained of.

On Debian: `apt-get install chromium chromium-driver`. Where they are missing the test is skipped with that command;
with TIDEWHEEL_REQUIRE_SERVICES set, it fails.
"""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.services.servers import REQUIRED_VARIABLE

WIDTH, HEIGHT = 1360, 860
PICTURES_VARIABLE = "TIDEWHEEL_PICTURES"  # a folder to keep the pictures in; those of the docs are in docs/images
_INSTALL = "run: apt-get install chromium chromium-driver"


@dataclass(frozen=True)
class Browser:
    driver: Any

    def open(self, url: str) -> None:
        self.driver.get(url)

    def log_in(self, url: str, token: str) -> None:
        """With a token as Airflow's own login leaves it; `url` is any page of it that needs none."""
        self.open(url)
        self.driver.add_cookie({"name": "_token", "value": token, "path": "/"})

    def press(self, css: str) -> None:
        """And wait for the page that follows."""
        from selenium.webdriver.support.expected_conditions import staleness_of
        from selenium.webdriver.support.ui import WebDriverWait

        before = self.driver.find_element("css selector", "html")
        self.driver.find_element("css selector", css).click()
        WebDriverWait(self.driver, 60).until(staleness_of(before))

    @property
    def text(self) -> str:
        """What a reader sees."""
        return str(self.driver.find_element("css selector", "body").text)

    @property
    def complaints(self) -> list[str]:
        """Of the page's code and policy, since the last look."""
        return [str(one["message"]) for one in self.driver.get_log("browser")]

    def picture(self, path: Path, *, dark: bool = False, whole: bool = True) -> None:
        """The page as it stands, down to its end."""
        self.prefer(dark)
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        height = max(HEIGHT, round(size["height"])) if whole else HEIGHT
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        options = {"format": "png", "captureBeyondViewport": whole, "clip": clip}
        taken = b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])
        # A third of the bytes: such a page has few colours.
        Image.open(BytesIO(taken)).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)

    def prefer(self, dark: bool) -> None:
        """The colours that the reader's system asks for."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in a folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        missing = "chromium" if not program else "chromedriver"
        (pytest.fail if os.environ.get(REQUIRED_VARIABLE) else pytest.skip)(f"{missing} is not installed; {_INSTALL}")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # The sandbox cannot be had by root, and shared memory is small in containers.
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={WIDTH},{HEIGHT}"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={folder}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        started.set_page_load_timeout(120)
        screen = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        started.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        yield Browser(started)
    finally:
        started.quit()


def pictures_folder(otherwise: Path) -> Path:
    """Where pictures go: what the environment names, or somewhere for the length of the test."""
    folder = Path(os.environ.get(PICTURES_VARIABLE) or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
