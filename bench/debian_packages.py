"""Programs and libraries from Debian's packages, unpacked into a folder: neither root nor an installation is needed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def unpack_packages(names: Sequence[str], folder: Path) -> Path:
    """Download the packages and return the folder with their files; OSError where they cannot be had."""
    root = folder / "root"
    try:
        download = ["apt-get", "-o", "APT::Sandbox::User=root", "download", *names]
        subprocess.run(download, cwd=folder, check=True, capture_output=True, timeout=60)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True, capture_output=True)
    except subprocess.SubprocessError as error:
        raise OSError(f"the packages {', '.join(names)} cannot be fetched: {error}") from error
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)  # servers may run as another user
    return root
