"""Unpack a MariaDB server from Debian's packages into a folder, for the tests of MySQL sources.

    python scripts/unpack_mariadb.py FOLDER

leaves `FOLDER/usr/sbin/mariadbd` and the libraries that this machine lacks. Nothing is installed, and root is not
needed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

SERVER = "mariadb-server-core"
CLIENT = "mariadb-client-core"  # has what mariadb-install-db calls
NO_APT = (
    "no MariaDB server: put mariadbd and mariadb-install-db on the PATH, or run on Debian or Ubuntu, where apt-get "
    "downloads them"
)
NO_DOWNLOAD = (
    f"apt-get could not download {SERVER}: check the network and the package sources, or put mariadbd and "
    "mariadb-install-db on the PATH"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the packages are unpacked")
    folder: Path = parser.parse_args().folder.absolute()
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        print(NO_APT, file=sys.stderr)  # noqa: T201
        return 1
    try:
        try:
            packages = download(folder, [])
        except subprocess.CalledProcessError:  # the machine has no lists of packages, or old ones
            packages = download(folder, update_lists(folder))
    except subprocess.CalledProcessError:  # apt has said why
        print(NO_DOWNLOAD, file=sys.stderr)  # noqa: T201
        return 1
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    shutil.rmtree(packages)
    shutil.rmtree(folder / "lists", ignore_errors=True)
    return 0


def download(folder: Path, lists: list[str]) -> Path:
    """Download the server and the packages that this machine lacks for it; return their folder."""
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    needed = re.findall(r"^  Depends: ([^<\s]+)$", apt("cache", lists, "depends", SERVER), re.MULTILINE)
    missing = [name for name in needed if not is_installed(name)]
    apt("get", lists, "download", SERVER, CLIENT, *missing, folder=packages)
    return packages


def update_lists(folder: Path) -> list[str]:
    """Fetch new lists of packages into `folder`; return the options that use them."""
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::Lists={folder / 'lists'}", "-o", f"Dir::Cache={folder}"]
    apt("get", options, "update")
    return options


def is_installed(package: str) -> bool:
    query = ["dpkg-query", "--show", "--showformat=${Status}", package]
    return subprocess.run(query, capture_output=True, text=True).stdout.endswith(" installed")


def apt(tool: str, options: list[str], *arguments: str, folder: Path | None = None) -> str:
    """Run apt-get or apt-cache; return its output. What it says about an error is shown."""
    command = [f"apt-{tool}", "-o", "APT::Sandbox::User=root", *options, *arguments]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
