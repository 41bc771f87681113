package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"
)

// EncryptionCodec encrypts payloads as Temporal's samples do: AES-256-GCM over the serialized payload.
type EncryptionCodec struct {
	keys    map[string]cipher.AEAD
	current string // the id of the key that encrypts
}

// NewEncryptionCodec reads PAYOUTS_ENCRYPTION_KEYS: keyId:base64(32 bytes)[,keyId:...]. The first key encrypts.
func NewEncryptionCodec(text string) (*EncryptionCodec, error) {
	codec := &EncryptionCodec{keys: map[string]cipher.AEAD{}}
	for entry := range strings.SplitSeq(text, ",") {
		id, encoded, _ := strings.Cut(strings.TrimSpace(entry), ":")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("PAYOUTS_ENCRYPTION_KEYS must be keyId:base64(32 bytes) pairs")
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if codec.keys[id], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		if codec.current == "" {
			codec.current = id
		}
	}
	return codec, nil
}

func (codec *EncryptionCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, codec.encrypted)
}

func (codec *EncryptionCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, codec.decrypted)
}

func (codec *EncryptionCodec) encrypted(payload *commonpb.Payload) (*commonpb.Payload, error) {
	plain, err := proto.Marshal(payload)
	if err != nil {
		return nil, err
	}
	key := codec.keys[codec.current]
	nonce := make([]byte, key.NonceSize())
	rand.Read(nonce)
	return &commonpb.Payload{
		Metadata: map[string][]byte{
			"encoding":          []byte("binary/encrypted"),
			"encryption-key-id": []byte(codec.current),
		},
		Data: key.Seal(nonce, nonce, plain, nil),
	}, nil
}

func (codec *EncryptionCodec) decrypted(payload *commonpb.Payload) (*commonpb.Payload, error) {
	if string(payload.Metadata["encoding"]) != "binary/encrypted" {
		return payload, nil
	}
	id := string(payload.Metadata["encryption-key-id"])
	key, held := codec.keys[id]
	if !held {
		return nil, fmt.Errorf("PAYOUTS_ENCRYPTION_KEYS has no key %q", id)
	}
	if len(payload.Data) < key.NonceSize() {
		return nil, fmt.Errorf("the payload is too short to be encrypted")
	}
	nonce, sealed := payload.Data[:key.NonceSize()], payload.Data[key.NonceSize():]
	plain, err := key.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	opened := &commonpb.Payload{}
	return opened, proto.Unmarshal(plain, opened)
}

func each(payloads []*commonpb.Payload, change func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	changed := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		var err error
		if changed[i], err = change(payload); err != nil {
			return nil, err
		}
	}
	return changed, nil
}
