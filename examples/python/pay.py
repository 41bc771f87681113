"""Pays the request in a JSON file and prints its result: python pay.py ../payout.json

Running it again joins the same payout, running or ended: nothing is paid twice.
"""

import asyncio
import json
import os
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import NoReturn

from codec import EncryptionCodec
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode


async def connect() -> Client:
    """Connects to TEMPORAL_ADDRESS with TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, …"""
    converter = replace(
        DataConverter.default,
        payload_codec=EncryptionCodec.from_text(os.environ["PAYOUTS_ENCRYPTION_KEYS"]),
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )
    options = {"target_host": "localhost:7233", **ClientConfig.load_client_connect_config()}
    return await Client.connect(**options, data_converter=converter)


async def start_or_join(client: Client, request: dict) -> WorkflowHandle:
    """A partnerOrderId starts one payout. The memo tells the worker that these policies guarantee it."""
    payout_id = f"payout:{request.get('app', 'default')}:{request['partnerOrderId']}"
    try:
        return await client.start_workflow(
            "payout",
            request,
            id=payout_id,
            task_queue="payouts",
            result_type=dict,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            memo={"rejectDuplicate": True, "environment": os.environ["PAYMENTS_ENVIRONMENT"]},
        )
    except WorkflowAlreadyStartedError:  # The payout has ended.
        return client.get_workflow_handle(payout_id, result_type=dict)


async def notify(payout: WorkflowHandle, request: dict) -> None:
    """A notification is a hint: it makes the payout query the provider."""
    notification = {
        "receivedAt": datetime.now(timezone.utc).isoformat(),
        "partnerOrderId": request["partnerOrderId"],
    }
    try:
        await payout.signal("notification", notification)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise  # An ended payout needs no hint.


def explain(failure: WorkflowFailureError) -> str:
    """A payout fails only on bad input. The first detail names every bad field."""
    cause = failure.cause
    while cause is not None:
        if isinstance(cause, ApplicationError) and cause.type == "InvalidPayoutRequest":
            return "\n".join(f"{field['path']} {field['message']}" for field in cause.details[0])
        cause = cause.__cause__
    raise failure


async def query_state(payout: WorkflowHandle) -> dict:
    """Asks again if the query overtook an event that the workflow has not processed yet."""
    while True:
        try:
            return await payout.query("state", result_type=dict)
        except WorkflowQueryFailedError as error:
            if "StaleWorkflowClock" not in str(error):
                raise
            await asyncio.sleep(0.1)


async def main(file: str) -> int:
    request = json.loads(Path(file).read_text())
    client = await connect()
    payout = await start_or_join(client, request)
    await notify(payout, request)
    try:
        state = await query_state(payout)
        print(f"{state['phase']}: {state['sentence']}")
        print(json.dumps(await payout.result(), indent=2))
        return 0
    except WorkflowFailureError as failure:
        print(explain(failure), file=sys.stderr)
        return 1


def leave(code: int) -> NoReturn:
    """Exits without cleanup: the SDK's threads may crash an interpreter that shuts down (temporalio/sdk-python issue 300)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(asyncio.run(main(sys.argv[1])))
