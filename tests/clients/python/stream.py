"""Streams a mu-law WAV file as a call, with nothing but grpcio and the proto file.

Prints each message of the server as a line of JSON, and last the status of the call. Everything comes from the
environment: CALLWRIGHT_PROTO, CALLWRIGHT_SERVER (host:port), CALLWRIGHT_CA, CALLWRIGHT_TOKEN, CALLWRIGHT_WAV.
"""

import json
import os
import pathlib
import queue
import struct
import sys
import tempfile

import grpc
from grpc_tools import protoc

CHUNK_MSEC = 20
DEADLINE_S = 60


def generate(proto: pathlib.Path, folder: str) -> None:
    """Makes the stubs as any integrator would."""
    arguments = ["protoc", f"-I{proto.parent}", f"--python_out={folder}", f"--grpc_python_out={folder}", str(proto)]
    if protoc.main(arguments) != 0:
        sys.exit("the proto file could not be compiled")
    sys.path.insert(0, folder)


def read_wav(path: str) -> tuple[dict, bytes]:
    """The format and the audio of a WAV file; Python's own reader takes PCM alone."""
    data = pathlib.Path(path).read_bytes()
    place, audio_format, audio = 12, None, b""
    while place < len(data):
        name, size = struct.unpack_from("<4sI", data, place)
        body = data[place + 8 : place + 8 + size]
        if name == b"fmt ":
            _, channels, rate = struct.unpack_from("<HHI", body)
            audio_format = {"SampleRate": rate, "ChannelCount": channels, "Encoding": "ulaw"}
        elif name == b"data":
            audio = body
        place += 8 + size + size % 2
    return audio_format, audio


def stubs():
    """The modules made from the proto file."""
    with tempfile.TemporaryDirectory() as folder:
        generate(pathlib.Path(os.environ["CALLWRIGHT_PROTO"]), folder)
        import dataflow_pb2
        import dataflow_pb2_grpc
    return dataflow_pb2, dataflow_pb2_grpc


def main() -> None:
    """Starts, streams, finalizes, and prints what comes back."""
    pb, rpc = stubs()
    audio_format, audio = read_wav(os.environ["CALLWRIGHT_WAV"])
    outgoing = queue.Queue()

    def say(kind: int, **fields) -> None:
        outgoing.put(pb.StreamInput(message=pb.Message(content_type=kind, **fields)))

    start = {
        "MessageName": "Start",
        "Tenant": "default",
        "Token": os.environ["CALLWRIGHT_TOKEN"],
        "ProjectName": "demo-stream",
        "Audio": audio_format,
    }
    say(pb.REQUEST, content=json.dumps(start))
    trusted = pathlib.Path(os.environ["CALLWRIGHT_CA"]).read_bytes()
    credentials = grpc.ssl_channel_credentials(root_certificates=trusted)
    with grpc.secure_channel(os.environ["CALLWRIGHT_SERVER"], credentials) as channel:
        call = rpc.dataflowStub(channel).Stream(iter(outgoing.get, None), timeout=DEADLINE_S)
        try:
            for output in call:
                message = output.message
                kind = pb.CONTENT_TYPE.Name(message.content_type)
                said = json.loads(message.content) if message.content else None
                print(json.dumps({"kind": kind, "said": said}), flush=True)
                if kind == "RESPONSE" and said.get("SessionId"):
                    size = audio_format["SampleRate"] * audio_format["ChannelCount"] * CHUNK_MSEC // 1000
                    for place in range(0, len(audio), size):
                        say(pb.AUDIO, binary_content=audio[place : place + size])
                    say(pb.REQUEST, content=json.dumps({"message-name": "Finalize"}))
        except grpc.RpcError:
            pass
        outgoing.put(None)
        print(json.dumps({"kind": "STATUS", "said": call.code().name}), flush=True)


main()
