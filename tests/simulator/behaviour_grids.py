"""What each row of the table does on each network. Written by hand; the tests are in test_behaviour.py."""

from dataclasses import dataclass

from tests.simulator.merchant_clients import HTML, SILENT

CUT = "cut"
BACK = "and back"
INITIATED = "PAYOUT INITIATED:SUCCESS"


@dataclass(frozen=True)
class Expected:
    reply: str
    callbacks: tuple[str, ...]
    status: str
    moved: bool | str  # by itself, or and back again
    seconds: float | None  # from the request to the (first) decision, at speed 1; None where there is none


def mpesa(reply: str, callbacks: str, status: str, moved: bool | str, seconds: float | None = 2) -> Expected:
    return Expected(reply, tuple(callbacks.split()), status, moved, seconds)


airtel = tigo = mpesa


def halopesa(reply: str, callbacks: str, moved: bool | str, seconds: float | None = 2) -> Expected:
    return Expected(reply, tuple(callbacks.split()), SILENT, moved, seconds)


def clickpesa(reply: str, callbacks: list[str], status: str, moved: bool | str, seconds: float | None = 2) -> Expected:
    return Expected(reply, tuple(callbacks), status, moved, seconds)


MPESA_COLLECTION = {
    "456": mpesa("201 INS-0", "INS-0", "Completed", True),
    "100": mpesa("201 INS-0", "INS-6", "Expired", False, 120),
    "101": mpesa("201 INS-0", "INS-5", "Cancelled", False),
    "102": mpesa("201 INS-0", "INS-2006", "Failed", False),
    "103": mpesa("201 INS-0", "INS-6", "Expired", False, 30),
    "104": mpesa(CUT, "INS-0", "Completed", True),
    "105": mpesa("201 INS-0", "", "Completed", True),
    "106": mpesa("201 INS-0", "INS-0 INS-0 INS-0", "Completed", True),
    "107": mpesa("201 INS-0", "INS-0", "Completed", True),
    "108": mpesa(HTML, "", "INS-23", False, None),
    "109": mpesa("201 INS-0", "", "Pending", False, None),
    "110": mpesa("201 INS-0", "INS-6 INS-0", "Completed", True),
    "111": mpesa("201 INS-0", "INS-6", "Completed", True, 30),
    "112": mpesa("201 INS-0", "INS-0", "Completed reversed", BACK),
    "113": mpesa("201 INS-0", "INS-0", "Completed", True),
}
MPESA_DISBURSEMENT = {
    "456": mpesa("201 INS-0", "INS-0", "Completed", True, 0),
    "100": mpesa("201 INS-0", "INS-0", "Completed", True, 5),
    "101": mpesa("401 INS-2002", "", "Failed", False, 0),
    "102": mpesa("422 INS-2006", "", "Failed", False, 0),
    "103": mpesa("201 INS-0", "INS-0", "Completed", True, 8),
    "104": mpesa(CUT, "INS-0", "Completed", True, 0),
    "105": mpesa(CUT, "", "Completed", True, 0),
    "106": mpesa("201 INS-0", "INS-0 INS-0 INS-0", "Completed", True, 0),
    "107": mpesa(CUT, "", "Completed", True, 0),
    "108": mpesa(HTML, "", "INS-23", False, None),
    "109": mpesa("201 INS-0", "", "Pending", False, None),
    "110": mpesa("201 INS-0", "INS-6 INS-0", "Completed", True, 0),
    "111": mpesa("201 INS-0", "INS-6", "Completed", True, 0),
    "112": mpesa("201 INS-0", "INS-0", "Completed reversed", BACK, 0),
    "113": mpesa("201 INS-0", "INS-6", "Failed", False, 0),
}
AIRTEL_COLLECTION = {
    "456": airtel("200 DP00800001006 SUCCESS", "TS:DP00800001001", "TS", True),
    "100": airtel("200 DP00800001006 SUCCESS", "TF:DP00800001029", "TE", False, 120),
    "101": airtel("200 DP00800001006 SUCCESS", "TF:DP00800001008", "TF", False),
    "102": airtel("200 DP00800001006 SUCCESS", "TF:DP00800001007", "TF", False),
    "103": airtel("200 DP00800001006 SUCCESS", "TF:DP00800001029", "TE", False, 30),
    "104": airtel(CUT, "TS:DP00800001001", "TS", True),
    "105": airtel("200 DP00800001006 SUCCESS", "", "TS", True),
    "106": airtel("200 DP00800001006 SUCCESS", " ".join(["TS:DP00800001001"] * 3), "TS", True),
    "107": airtel("200 DP00800001006 SUCCESS", "TS:DP00800001001", "TS", True),
    "108": airtel(HTML, "", "DP00800001025", False, None),
    "109": airtel("200 DP00800001006 SUCCESS", "", "TIP", False, None),
    "110": airtel("200 DP00800001006 SUCCESS", "TF:DP00800001005 TS:DP00800001001", "TS", True),
    "111": airtel("200 DP00800001006 SUCCESS", "TF:DP00800001029", "TS", True, 30),
    "112": airtel("200 DP00800001006 SUCCESS", "TS:DP00800001001", "TR", BACK),
    "113": airtel("200 DP00800001006 SUCCESS", "TS:DP00800001001", "TS", True),
}
AIRTEL_DISBURSEMENT = {
    "456": airtel("200 DP00900001001 TS", "", "TS", True, 0),
    "100": airtel("200 DP00900001006 TIP", "TS:DP00900001001", "TS", True, 5),
    "101": airtel("400 DP00900001009", "", "TF", False, 0),
    "102": airtel("400 DP00900001007", "", "TF", False, 0),
    "103": airtel("200 DP00900001001 TS", "", "TS", True, 8),
    "104": airtel(CUT, "", "TS", True, 0),
    "105": airtel(CUT, "", "TS", True, 0),
    "106": airtel("200 DP00900001001 TS", " ".join(["TS:DP00900001001"] * 3), "TS", True, 0),
    "107": airtel(CUT, "", "TS", True, 0),
    "108": airtel(HTML, "", "DP00900001015", False, None),
    "109": airtel("200 DP00900001006 TIP", "", "TIP", False, None),
    "110": airtel("200 DP00900001005 TF", "TF:DP00900001005 TS:DP00900001001", "TS", True, 0),
    "111": airtel("200 DP00900001005 TF", "", "TS", True, 0),
    "112": airtel("200 DP00900001001 TS", "", "TR", BACK, 0),
    "113": airtel("200 DP00900001005 TF", "", "TF", False, 0),
}
TIGO_COLLECTION = {
    "456": tigo("BILLER-18-0000-S", "True", "Posted", True),
    "100": tigo("BILLER-18-0000-S", "False", "Declined", False, 120),
    "101": tigo("BILLER-18-0000-S", "False", "Declined", False),
    "102": tigo("BILLER-18-0000-S", "False", "Declined", False),
    "103": tigo("BILLER-18-0000-S", "False", "Declined", False, 30),
    "104": tigo(CUT, "True", "Posted", True),
    "105": tigo("BILLER-18-0000-S", "", "Posted", True),
    "106": tigo("BILLER-18-0000-S", "True True True", "Posted", True),
    "107": tigo("BILLER-18-0000-S", "True", "Posted", True),
    "108": tigo(HTML, "", "GetSOError010", False, None),
    "109": tigo("BILLER-18-0000-S", "", "GetSOError011", False, None),
    "110": tigo("BILLER-18-0000-S", "False True", "Posted", True),
    "111": tigo("BILLER-18-0000-S", "False", "Posted", True, 30),
    "112": tigo("BILLER-18-0000-S", "True", "Refund", BACK),
    "113": tigo("BILLER-18-0000-S", "True", "Posted", True),
}
TIGO_DISBURSEMENT = {
    "456": tigo("200", "", SILENT, True, 0),
    "100": tigo("200", "", SILENT, True, 5),
    "101": tigo("60074", "", SILENT, False, 0),
    "102": tigo("60019", "", SILENT, False, 0),
    "103": tigo("200", "", SILENT, True, 8),
    "104": tigo(CUT, "", SILENT, True, 0),
    "105": tigo(CUT, "", SILENT, True, 0),
    "106": tigo("200", "", SILENT, True, 0),
    "107": tigo(CUT, "", SILENT, True, 0),
    "108": tigo(HTML, "", SILENT, False, None),
    "109": tigo("100", "", SILENT, False, None),
    "110": tigo("00317", "", SILENT, True, 0),
    "111": tigo("00317", "", SILENT, True, 0),
    "112": tigo("200", "", SILENT, BACK, 0),
    "113": tigo("00317", "", SILENT, False, 0),
}
HALOPESA_COLLECTION = {
    "456": halopesa("0", "ACK:0 FIN:0", True),
    "100": halopesa("0", "ACK:0 FIN:9021", False, 120),
    "101": halopesa("0", "ACK:0 FIN:9020", False),
    "102": halopesa("0", "ACK:0 FIN:9009", False),
    "103": halopesa("0", "ACK:0 FIN:9021", False, 30),
    "104": halopesa(CUT, "ACK:0 FIN:0", True),
    "105": halopesa("0", "", True),
    "106": halopesa("0", "ACK:0 FIN:0 FIN:0 FIN:0", True),
    "107": halopesa("0", "ACK:0 FIN:0", True),
    "108": halopesa(HTML, "", False, None),
    "109": halopesa("0", "ACK:0", False, None),
    "110": halopesa("0", "ACK:0 FIN:9022 FIN:0", True),
    "111": halopesa("0", "ACK:0 FIN:9021", True, 30),
    "112": halopesa("0", "ACK:0 FIN:0", BACK),
    "113": halopesa("0", "ACK:0 FIN:0", True),
}
CLICKPESA_COLLECTION = {
    "456": clickpesa("200 PROCESSING", ["PAYMENT RECEIVED:SUCCESS"], "SUCCESS", True),
    "100": clickpesa("200 PROCESSING", ["PAYMENT FAILED:FAILED"], "FAILED", False, 120),
    "101": clickpesa("200 PROCESSING", ["PAYMENT FAILED:FAILED"], "FAILED", False),
    "102": clickpesa("200 PROCESSING", ["PAYMENT FAILED:FAILED"], "FAILED", False),
    "103": clickpesa("200 PROCESSING", ["PAYMENT FAILED:FAILED"], "FAILED", False, 30),
    "104": clickpesa(CUT, ["PAYMENT RECEIVED:SUCCESS"], "SUCCESS", True),
    "105": clickpesa("200 PROCESSING", [], "SUCCESS", True),
    "106": clickpesa("200 PROCESSING", ["PAYMENT RECEIVED:SUCCESS"] * 3, "SUCCESS", True),
    "107": clickpesa("200 PROCESSING", ["PAYMENT RECEIVED:SUCCESS"], "SUCCESS", True),
    "108": clickpesa(HTML, [], "404", False, None),
    "109": clickpesa("200 PROCESSING", [], "PROCESSING", False, None),
    "110": clickpesa("200 PROCESSING", ["PAYMENT FAILED:FAILED", "PAYMENT RECEIVED:SUCCESS"], "SUCCESS", True),
    "111": clickpesa("200 PROCESSING", ["PAYMENT FAILED:FAILED"], "SUCCESS", True, 30),
    "112": clickpesa("200 PROCESSING", ["PAYMENT RECEIVED:SUCCESS", "PAYMENT FAILED:REVERSED"], "REVERSED", BACK),
    "113": clickpesa("200 PROCESSING", ["PAYMENT RECEIVED:SUCCESS"], "SUCCESS", True),
}
CLICKPESA_DISBURSEMENT = {
    "456": clickpesa("200 AUTHORIZED", [INITIATED], "SUCCESS", True, 0),
    "100": clickpesa("200 AUTHORIZED", [INITIATED], "SUCCESS", True, 5),
    "101": clickpesa("400", [], "FAILED", False, 0),
    "102": clickpesa("400", [], "FAILED", False, 0),
    "103": clickpesa("200 AUTHORIZED", [INITIATED], "SUCCESS", True, 8),
    "104": clickpesa(CUT, [INITIATED], "SUCCESS", True, 0),
    "105": clickpesa(CUT, [], "SUCCESS", True, 0),
    "106": clickpesa("200 AUTHORIZED", [INITIATED] * 3, "SUCCESS", True, 0),
    "107": clickpesa(CUT, [], "SUCCESS", True, 0),
    "108": clickpesa(HTML, [], "404", False, None),
    "109": clickpesa("200 AUTHORIZED", [INITIATED], "AUTHORIZED", False, None),
    "110": clickpesa("200 AUTHORIZED", [INITIATED, "PAYOUT REFUNDED:REFUNDED"], "SUCCESS", True, 0),
    "111": clickpesa("200 AUTHORIZED", [INITIATED, "PAYOUT REFUNDED:REFUNDED"], "SUCCESS", True, 0),
    "112": clickpesa("200 AUTHORIZED", [INITIATED, "PAYOUT REVERSED:REVERSED"], "REVERSED", BACK, 0),
    "113": clickpesa("200 AUTHORIZED", [INITIATED, "PAYOUT REFUNDED:REFUNDED"], "FAILED", False, 0),
}
ACCEPTED = "200 True"
AZAMPAY_DISBURSEMENT = {
    "456": clickpesa(ACCEPTED, ["success"], "success", True, 0),
    "100": clickpesa(ACCEPTED, ["success"], "success", True, 5),
    "101": clickpesa(ACCEPTED, [], "failure", False, 0),
    "102": clickpesa(ACCEPTED, [], "failure", False, 0),
    "103": clickpesa(ACCEPTED, ["success"], "success", True, 8),
    "104": clickpesa(CUT, ["success"], "success", True, 0),
    "105": clickpesa(CUT, [], "success", True, 0),
    "106": clickpesa(ACCEPTED, ["success"] * 3, "success", True, 0),
    "107": clickpesa(CUT, [], "success", True, 0),
    "108": clickpesa(HTML, [], "404", False, None),
    "109": clickpesa(ACCEPTED, [], "pending", False, None),
    "110": clickpesa(ACCEPTED, ["failure", "success"], "success", True, 0),
    "111": clickpesa(ACCEPTED, ["failure"], "success", True, 0),
    "112": clickpesa(ACCEPTED, ["success"], "failure", BACK, 0),
    "113": clickpesa(ACCEPTED, ["failure"], "failure", False, 0),
}

GRIDS = {
    ("MPESA", "collection"): MPESA_COLLECTION,
    ("MPESA", "disbursement"): MPESA_DISBURSEMENT,
    ("AIRTEL_MONEY", "collection"): AIRTEL_COLLECTION,
    ("AIRTEL_MONEY", "disbursement"): AIRTEL_DISBURSEMENT,
    ("TIGO_PESA", "collection"): TIGO_COLLECTION,
    ("TIGO_PESA", "disbursement"): TIGO_DISBURSEMENT,
    ("HALOPESA", "collection"): HALOPESA_COLLECTION,
    ("CLICKPESA", "collection"): CLICKPESA_COLLECTION,
    ("CLICKPESA", "disbursement"): CLICKPESA_DISBURSEMENT,
    ("AZAMPAY", "disbursement"): AZAMPAY_DISBURSEMENT,
}
# Those whose queries can be asked between one thing and the next.
ASKED = [key for key in GRIDS if key not in (("TIGO_PESA", "disbursement"), ("HALOPESA", "collection"))]
