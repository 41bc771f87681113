package payouts;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.temporal.api.common.v1.Payload;
import io.temporal.payload.codec.PayloadCodec;
import io.temporal.payload.codec.PayloadCodecException;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Encrypts payloads as Temporal's samples do: AES-256-GCM over the serialized payload. */
final class EncryptionCodec implements PayloadCodec {
  private static final String ENCODING = "encoding";
  private static final String KEY_ID = "encryption-key-id";
  private static final ByteString ENCRYPTED = ByteString.copyFromUtf8("binary/encrypted");
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;

  private final Map<String, SecretKey> keys;
  /** The id of the key that encrypts. */
  private final String current;

  private final SecureRandom random = new SecureRandom();

  private EncryptionCodec(Map<String, SecretKey> keys) {
    this.keys = keys;
    this.current = keys.keySet().iterator().next();
  }

  /** Reads PAYOUTS_ENCRYPTION_KEYS: keyId:base64(32 bytes)[,keyId:...]. The first key encrypts. */
  static EncryptionCodec fromText(String text) {
    Map<String, SecretKey> keys = new LinkedHashMap<>();
    for (String entry : text.split(",")) {
      String[] pair = entry.strip().split(":");
      keys.put(pair[0], new SecretKeySpec(Base64.getDecoder().decode(pair[1]), "AES"));
    }
    return new EncryptionCodec(keys);
  }

  @Override
  public List<Payload> encode(List<Payload> payloads) {
    return payloads.stream().map(this::encrypted).toList();
  }

  @Override
  public List<Payload> decode(List<Payload> payloads) {
    return payloads.stream().map(this::decrypted).toList();
  }

  private Payload encrypted(Payload payload) {
    byte[] nonce = new byte[NONCE_BYTES];
    random.nextBytes(nonce);
    byte[] sealed = aes(Cipher.ENCRYPT_MODE, current, nonce, payload.toByteArray());
    return Payload.newBuilder()
        .putMetadata(ENCODING, ENCRYPTED)
        .putMetadata(KEY_ID, ByteString.copyFromUtf8(current))
        .setData(ByteString.copyFrom(nonce).concat(ByteString.copyFrom(sealed)))
        .build();
  }

  private Payload decrypted(Payload payload) {
    if (!ENCRYPTED.equals(payload.getMetadataMap().get(ENCODING))) return payload;
    String keyId = payload.getMetadataOrThrow(KEY_ID).toStringUtf8();
    byte[] nonce = payload.getData().substring(0, NONCE_BYTES).toByteArray();
    byte[] sealed = payload.getData().substring(NONCE_BYTES).toByteArray();
    try {
      return Payload.parseFrom(aes(Cipher.DECRYPT_MODE, keyId, nonce, sealed));
    } catch (InvalidProtocolBufferException error) {
      throw new PayloadCodecException(error);
    }
  }

  private byte[] aes(int mode, String keyId, byte[] nonce, byte[] data) {
    SecretKey key = keys.get(keyId);
    if (key == null) throw new PayloadCodecException("PAYOUTS_ENCRYPTION_KEYS has no key " + keyId);
    try {
      Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
      cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
      return cipher.doFinal(data);
    } catch (GeneralSecurityException error) {
      throw new PayloadCodecException(error);
    }
  }
}
