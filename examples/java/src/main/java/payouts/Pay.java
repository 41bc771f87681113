package payouts;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.temporal.api.enums.v1.WorkflowIdConflictPolicy;
import io.temporal.api.enums.v1.WorkflowIdReusePolicy;
import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowClientOptions;
import io.temporal.client.WorkflowExecutionAlreadyStarted;
import io.temporal.client.WorkflowFailedException;
import io.temporal.client.WorkflowNotFoundException;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowQueryException;
import io.temporal.client.WorkflowStub;
import io.temporal.common.converter.CodecDataConverter;
import io.temporal.common.converter.DefaultDataConverter;
import io.temporal.envconfig.ClientConfigProfile;
import io.temporal.failure.ApplicationFailure;
import io.temporal.serviceclient.WorkflowServiceStubs;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Pays the request in a JSON file and prints its result: {@code java -jar target/pay.jar ../payout.json}
 *
 * <p>Running it again joins the same payout, running or ended: nothing is paid twice.
 */
public final class Pay {
  private static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws IOException {
    JsonNode request = JSON.readTree(new File(args[0]));
    ClientConfigProfile temporal = ClientConfigProfile.load();
    WorkflowServiceStubs connection =
        WorkflowServiceStubs.newServiceStubs(temporal.toWorkflowServiceStubsOptions());
    try {
      WorkflowStub payout = startOrJoin(client(temporal, connection), request);
      notify(payout, request);
      JsonNode state = state(payout);
      System.out.println(state.get("phase").asText() + ": " + state.get("sentence").asText());
      System.out.println(payout.getResult(JsonNode.class).toPrettyString());
    } catch (WorkflowFailedException failure) {
      System.err.println(explained(failure));
      System.exit(1);
    } finally {
      connection.shutdown();
    }
  }

  /** Asks again if the query overtook an event that the workflow has not processed yet. */
  private static JsonNode state(WorkflowStub payout) {
    while (true) {
      try {
        return payout.query("state", JsonNode.class);
      } catch (WorkflowQueryException failure) {
        if (!String.valueOf(failure.getCause()).contains("StaleWorkflowClock")) throw failure;
        LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
      }
    }
  }

  private static WorkflowClient client(ClientConfigProfile temporal, WorkflowServiceStubs connection) {
    EncryptionCodec codec = EncryptionCodec.fromText(System.getenv("PAYOUTS_ENCRYPTION_KEYS"));
    // Failures are encrypted too.
    var converter =
        new CodecDataConverter(DefaultDataConverter.newDefaultInstance(), List.of(codec), true);
    WorkflowClientOptions options =
        temporal.toWorkflowClientOptions().toBuilder().setDataConverter(converter).build();
    return WorkflowClient.newInstance(connection, options);
  }

  /** A partnerOrderId starts one payout. The memo tells the worker that these policies guarantee it. */
  private static WorkflowStub startOrJoin(WorkflowClient client, JsonNode request) {
    String app = request.path("app").asText("default");
    String payoutId = "payout:" + app + ":" + request.get("partnerOrderId").asText();
    WorkflowOptions options =
        WorkflowOptions.newBuilder()
            .setWorkflowId(payoutId)
            .setTaskQueue("payouts")
            .setWorkflowIdReusePolicy(
                WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
            .setWorkflowIdConflictPolicy(
                WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
            .setMemo(
                Map.of(
                    "rejectDuplicate", true,
                    "environment", System.getenv("PAYMENTS_ENVIRONMENT")))
            .build();
    WorkflowStub payout = client.newUntypedWorkflowStub("payout", options);
    try {
      payout.start(request);
      return payout;
    } catch (WorkflowExecutionAlreadyStarted ended) {
      return client.newUntypedWorkflowStub(payoutId);
    }
  }

  /** A notification is a hint: it makes the payout query the provider. */
  private static void notify(WorkflowStub payout, JsonNode request) {
    String number = request.get("partnerOrderId").asText();
    try {
      payout.signal(
          "notification", Map.of("receivedAt", Instant.now().toString(), "partnerOrderId", number));
    } catch (WorkflowNotFoundException ended) {
      // An ended payout needs no hint.
    }
  }

  /** A payout fails only on bad input. The first detail names every bad field. */
  private static String explained(WorkflowFailedException failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (!(cause instanceof ApplicationFailure failed)) continue;
      if (!failed.getType().equals("InvalidPayoutRequest")) continue;
      StringBuilder fields = new StringBuilder();
      for (JsonNode field : failed.getDetails().get(0, JsonNode.class))
        fields.append("%s %s%n".formatted(field.get("path").asText(), field.get("message").asText()));
      return fields.toString();
    }
    throw failure;
  }
}
