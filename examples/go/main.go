// Pays the request in a JSON file and prints its result: go run . ../payout.json
//
// Running it again joins the same payout, running or ended: nothing is paid twice.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// Request is a PayoutRequest as in schemas/payout-request.json.
type Request map[string]any

// Notification is a hint that makes a payout query the provider.
type Notification struct {
	ReceivedAt     string `json:"receivedAt"`
	PartnerOrderID string `json:"partnerOrderId"`
}

// FieldError is one bad field of a request.
type FieldError struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

func main() {
	if err := pay(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, explained(err))
		os.Exit(1)
	}
}

func pay(ctx context.Context, file string) error {
	request, err := read(file)
	if err != nil {
		return err
	}
	engine, err := connect()
	if err != nil {
		return err
	}
	defer engine.Close()
	payout, err := startOrJoin(ctx, engine, request)
	if err != nil {
		return err
	}
	if err := notify(ctx, engine, payout, request); err != nil {
		return err
	}
	if err := printState(ctx, engine, payout); err != nil {
		return err
	}
	return printResult(ctx, payout)
}

func read(file string) (request Request, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return request, json.Unmarshal(text, &request)
}

// connect reads TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, … and connects.
func connect() (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	codec, err := NewEncryptionCodec(os.Getenv("PAYOUTS_ENCRYPTION_KEYS"))
	if err != nil {
		return nil, err
	}
	options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          options.DataConverter,
		EncodeCommonAttributes: true,
	})
	options.Logger = log.NewStructuredLogger(slog.Default())
	return client.Dial(options)
}

// startOrJoin starts one payout per partnerOrderId. For one that has ended, Go's SDK returns a handle without an error.
// The memo tells the worker that these policies guarantee it.
func startOrJoin(ctx context.Context, engine client.Client, request Request) (client.WorkflowRun, error) {
	app, _ := request["app"].(string)
	options := client.StartWorkflowOptions{
		ID:                       fmt.Sprintf("payout:%s:%v", cmp.Or(app, "default"), request["partnerOrderId"]),
		TaskQueue:                "payouts",
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Memo: map[string]any{
			"rejectDuplicate": true,
			"environment":     os.Getenv("PAYMENTS_ENVIRONMENT"),
		},
	}
	return engine.ExecuteWorkflow(ctx, options, "payout", request)
}

// notify sends a hint, which makes the payout query the provider.
func notify(ctx context.Context, engine client.Client, payout client.WorkflowRun, request Request) error {
	heard := Notification{
		ReceivedAt:     time.Now().UTC().Format(time.RFC3339),
		PartnerOrderID: fmt.Sprint(request["partnerOrderId"]),
	}
	err := engine.SignalWorkflow(ctx, payout.GetID(), "", "notification", heard)
	var ended *serviceerror.NotFound
	if errors.As(err, &ended) {
		return nil // An ended payout needs no hint.
	}
	return err
}

func printState(ctx context.Context, engine client.Client, payout client.WorkflowRun) error {
	found, err := queryState(ctx, engine, payout)
	if err != nil {
		return err
	}
	var state struct{ Phase, Sentence string }
	if err := found.Get(&state); err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", state.Phase, state.Sentence)
	return nil
}

// queryState asks again if the query overtook an event that the workflow hasn't processed yet.
func queryState(ctx context.Context, engine client.Client, payout client.WorkflowRun) (converter.EncodedValue, error) {
	for {
		found, err := engine.QueryWorkflow(ctx, payout.GetID(), "", "state")
		if err == nil || !strings.Contains(err.Error(), "StaleWorkflowClock") {
			return found, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func printResult(ctx context.Context, payout client.WorkflowRun) error {
	var result map[string]any
	if err := payout.Get(ctx, &result); err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	fmt.Println(string(text))
	return err
}

// explained names every bad field: a payout fails only on bad input.
func explained(err error) string {
	var failure *temporal.ApplicationError
	var fields []FieldError
	if !errors.As(err, &failure) || failure.Type() != "InvalidPayoutRequest" || failure.Details(&fields) != nil {
		return err.Error()
	}
	text := ""
	for _, field := range fields {
		text += fmt.Sprintf("%s %s\n", field.Path, field.Message)
	}
	return text
}
