"""Encrypts payloads as Temporal's samples do: AES-256-GCM over the serialized payload."""

import base64
import os
from collections.abc import Iterable

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

NONCE_BYTES = 12


class EncryptionCodec(PayloadCodec):
    def __init__(self, keys: dict[str, AESGCM]) -> None:
        """The first key encrypts, all keys decrypt."""
        self.keys = keys
        self.current = next(iter(keys))

    @staticmethod
    def from_text(text: str) -> "EncryptionCodec":
        """`text` as in PAYOUTS_ENCRYPTION_KEYS: keyId:base64(32 bytes)[,keyId:...]"""
        pairs = (entry.strip().split(":") for entry in text.split(","))
        return EncryptionCodec({key_id: AESGCM(base64.b64decode(key)) for key_id, key in pairs})

    async def encode(self, payloads: Iterable[Payload]) -> list[Payload]:
        return [self.encrypted(payload) for payload in payloads]

    async def decode(self, payloads: Iterable[Payload]) -> list[Payload]:
        return [self.decrypted(payload) for payload in payloads]

    def encrypted(self, payload: Payload) -> Payload:
        nonce = os.urandom(NONCE_BYTES)
        sealed = self.keys[self.current].encrypt(nonce, payload.SerializeToString(), None)
        metadata = {"encoding": b"binary/encrypted", "encryption-key-id": self.current.encode()}
        return Payload(metadata=metadata, data=nonce + sealed)

    def decrypted(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != b"binary/encrypted":
            return payload
        key_id = payload.metadata["encryption-key-id"].decode()
        if key_id not in self.keys:
            raise ValueError(f"PAYOUTS_ENCRYPTION_KEYS has no key {key_id}")
        nonce, sealed = payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:]
        return Payload.FromString(self.keys[key_id].decrypt(nonce, sealed, None))
