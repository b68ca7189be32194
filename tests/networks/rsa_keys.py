"""Throw-away RSA keys that guard nothing, of the sizes the networks give out, made once with `openssl genrsa`.

The public halves are what an operator would paste: `openssl rsa -pubout -outform DER | base64 -w0`.
"""

import base64

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key


def _private(pem: str) -> RSAPrivateKey:
    # Their primes were tested when they were made, which takes longer than all of these tests may.
    key = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, RSAPrivateKey)
    return key


def opened(key: RSAPrivateKey, sealed: str) -> str:
    """What was sealed with PKCS#1 v1.5; the base64 must be whole, on one line, and of the key's size."""
    return key.decrypt(unpacked(key, sealed), padding.PKCS1v15()).decode()


def opened_oaep(key: RSAPrivateKey, sealed: str) -> str:
    """What was sealed with OAEP, SHA-256 for both the hash and MGF1."""
    oaep = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
    return key.decrypt(unpacked(key, sealed), oaep).decode()


def unpacked(key: RSAPrivateKey, sealed: str) -> bytes:
    ciphertext = base64.b64decode(sealed, validate=True)
    assert len(ciphertext) == key.key_size // 8
    assert base64.b64encode(ciphertext).decode() == sealed
    return ciphertext


MPESA_PUBLIC_KEY = (
    "MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEA1VA9af9F6QYOMv+B5GbqGLHsSVHBIIUj8z5y6qE/np0LMwfi/ecAC3dbEI5q"
    "rbBgrJc8n3SXaPJFWx9m6LGgfiMEVAoBWmXLd4QKTd+OIAsPJTuYG3UgZggJC3dcPrksOaKC8tuXAvS5J+W0FJYEUDK5q5BMM4MSoKn7"
    "aXpLV8FBPCTGO5cab4pC7S6xI/uZywwqTX6lqGTmu2vWm2WRZLY/WKcxm9qyyNJTwo8Tp4S7wL8T8DfWmqRe9+eLFdQQ5yRwJBI+NO1E"
    "+KFO4PlgL7agq97XJ0el6RNP2FX78qFRgk259lE2kyrz4wMtQGf9piWXz835KT1HqqtqVQ1S0SSQCTEs4Nqs4EldccJh0wZGo3nj7dSH"
    "CJaltiB7Ze1lt2eGcl66zTDvcKzs7KAccEwSH/A9jnTDZHgYsnV+PWwQGgPzOAoFaVgBeUd0paLB3nPADM3KzJOtbsH9dZRV42nS+6jV"
    "ooIGimo8ASYPWA6GE/NHLspuXdXHFPZ+2YlGyI4PHzGQxIpBV9b1cyjDUC+n1XxPfV+bUH51tR4TD1mO/35kFxZMhs4y9KlGrub4Hzb9"
    "UEE/XHLCTip/3JTn2PKwfOnqiJVaXVriY7F/ZJ4TETS4HdbImJ0jHFwhQkIedqKno9cB9tix1tnI38hvUrKexNExaa3Qb91jdNoZOXEC"
    "AwEAAQ=="
)

MPESA = _private("""
-----BEGIN PRIVATE KEY-----
MIIJQQIBADANBgkqhkiG9w0BAQEFAASCCSswggknAgEAAoICAQDVUD1p/0XpBg4y
/4HkZuoYsexJUcEghSPzPnLqoT+enQszB+L95wALd1sQjmqtsGCslzyfdJdo8kVb
H2bosaB+IwRUCgFaZct3hApN344gCw8lO5gbdSBmCAkLd1w+uSw5ooLy25cC9Lkn
5bQUlgRQMrmrkEwzgxKgqftpektXwUE8JMY7lxpvikLtLrEj+5nLDCpNfqWoZOa7
a9abZZFktj9YpzGb2rLI0lPCjxOnhLvAvxPwN9aapF7354sV1BDnJHAkEj407UT4
oU7g+WAvtqCr3tcnR6XpE0/YVfvyoVGCTbn2UTaTKvPjAy1AZ/2mJZfPzfkpPUeq
q2pVDVLRJJAJMSzg2qzgSV1xwmHTBkajeePt1IcIlqW2IHtl7WW3Z4ZyXrrNMO9w
rOzsoBxwTBIf8D2OdMNkeBiydX49bBAaA/M4CgVpWAF5R3SlosHec8AMzcrMk61u
wf11lFXjadL7qNWiggaKajwBJg9YDoYT80cuym5d1ccU9n7ZiUbIjg8fMZDEikFX
1vVzKMNQL6fVfE99X5tQfnW1HhMPWY7/fmQXFkyGzjL0qUau5vgfNv1QQT9ccsJO
Kn/clOfY8rB86eqIlVpdWuJjsX9knhMRNLgd1siYnSMcXCFCQh52oqej1wH22LHW
2cjfyG9Ssp7E0TFprdBv3WN02hk5cQIDAQABAoICAANY2fiCz+cDIvqRNcmOr9ep
WwrKJJyiWi5j6XZdsgYxcqPfWM7LxB1p8bIweeNgeXPb1PtaNKdUkzAF2HMy7lDB
szyvrNZtSHmx8bNycY7L0vYDmbRnQcCNbw7mADrfuZ5B5YodVfZEPsTYfts1K2Yo
FZpn44+KBqMiElbVBhT0war0QhlcmpvrcHdmRyidtwu6P3kDJrhItQd11A07f8Iz
yzSp6EZeHSC3jtGRCymSv0Yb+W/IgIPhVmLPbZ2Zu+t/OonmW2GF45Ip0yIGkl13
9ndxQgZUwnlbcIz1dG7vMbyOBFVQGuoeP2tteP/3YcHXTyrXPDSgczJuCXds2Rgg
WPiYZ60f5BYPFKZYWt7rBxiQjI4AQ8UPC5j/9rSU+ohLwFdXoKBfoptMnGdn5dKm
DMJsVO4tc+nkCb3vKyxLUQxp9z9UVjANhPDKOyYO8o0LlcSW3S/7w8APM51W3x25
d7Nl9TgbBfOBw7W44AZ25xn/FmcvdgyP5sEjvnBOBpCC3m8SIk6KPOg5ALgt2i7h
CsdGvUp0dhQp3PgwprLVVyBQz1UbKwGgOU1Kw2W9SngGvNCPSqHmH0PXZDlyqXKk
Mx6uvvvmpFdbZnXPHiK/E4fAADECJRV21J75xi5eYhgscdnKfoKPN1H7SSsTVKwT
rIyQV7UochHJ4UNhyFIRAoIBAQDwQQvDWS3++2TWswAnW720AEMpZIYqPa/FPWGo
GSsaRZzEQjaBARnjwam660Ybk0+7HDmE85CtV2N1OtUekMrrKTZdh/TeQvcbLFsi
I6jwaA5fYkqwbrzxy5l2agOpSMJWVPtorisa+bt8J/XLdDfUJjU+2i6KDV0WOgG3
BxaeXc0aV9l6Wa0/f2AMk0dud758Ryz2Xyb3c3QjZMiSYL0v9DB59ksdKcTxkv1Q
aLNFo/JNqIciLMCzC00aM5MzxcJcSsVJSSSahO6h0hbtEEYyHVka7rbblxNOws2G
V8M8L2x5Ygu1LQXYaJdYsZC+I9+8q6TxqRITkhS4O3JFNtQdAoIBAQDjSy/fHOxO
fPeMNr5c5juvNiFWHFpu2Gkg6DG6GJJd19daACpIHcbR9IknBeDcsFMiU6KZlopB
YgslpQdZziF5WSPKrvw94wtUZqyqmds7HqX5Rw+LstC+aU3MHQ+L1yAZ2+MgN+GP
MwOciS1QYQltBMfWbpe6TelG0PHD2Kwl3Cb+JNLkmG1f+QlSfRhAI2PBZ2Iw/WZ7
8EXsavJIbP5CAvQ1jxfxeTFqYFs9zyuBaWxCKWUZ9oNUi0gZU6EJcmwlmdwBzXV/
yznYOjybnt4OyPO3N+6oBbhxydOXWHBcXm3aw8BgKNKypQ9jwtNwQnfvvHaIlSms
26HGizEKS5JlAoIBAC/nGDxT7KrZXwq71/0A+rsIDlwTcfi8Ie62xWDp28E6Pf6X
oRxppsrVk0z0mh7naU9KWmGa2q7lLKx0FYgpoHvw1KkjcXxbZ7+gQW92IroEVVFJ
XND+02d2i9ujWaWIH09tVE9T4r5XKr2fjg+J1ZPUJmuovvzBm1zSJgNjQ2xCEaH+
ABu4A6YUdIctWmG5OF65JkrdP/y4pWBlOOSOq0oDayL2K5Xd/SmZgC5nIc9x198K
Ch+TQrywNShTPjdlZ9JVCi8JiWXRuW7EX9PWmdhmJ50KGaWA4tWiW648k23Nmtg8
506xcmfqurpxdQWkS3jn1FRmvHbwencdSzRnsTUCggEAGHfMlHkZmy1qvKZcAcYr
IKZ0Gj/9IDedwZQdXkos33tPzHl+E7tY3tszNIc2eKtml6hnNZ92DKnQR2Ink2xU
QCrvZm9F6ieZ3aEb71WWuxuGhHo42zIJtKXDYTizprsm0oHQRnSdjHvSZLSDs0Zu
7FR6asQHA2BFv4DYtduKVJ0JeYxfQ4qBI7a8YSvkQ2tL3tMRR/LPaIIqFNRCdrd8
+4Az59wamL0SK8BpshKuPUUrCUhJgOz/oEdKIKfXCxxNNhMFExCaGIK5HGTQh3Qn
tXG+gre7skzDWUR/yagUmGz16HnwKKncXKzWJkgf2NLe9GjWXceo79nI5YWwZspR
3QKCAQAE6wMyA2fDk6hibGM6SWiglT0G04MSe9OGiwtcev9maS150xmuRRLKLsRk
zinw6dEBaQwPvC+N3Z3Djag6jc8BOwrhuB179Z8WXBccVUTHnV27hBwlQKk/RelZ
r/fVCZR2mfMgoF+mOb/OwjkZZ/DgdrG1OtzQZlx2fhki+bW2dtLm3NcMtrsDlSJc
f7MMP2823cJrWkVzWifVHVmc345xtVaIyAWvu1KpZOPpk5kuMLeB7wVTLxk5YZRX
4Afo0w7xwCsl3II2calh5Xt1kpBLZZbDa8ibI55Fdme6ux92DwcdqaLsGfaE64Ie
3FSMItwasAU9H+SbiuireC27nV2a
-----END PRIVATE KEY-----
""")

AIRTEL_MONEY_PUBLIC_KEY = (
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDLPKOdqm9gOl8//KcLLFr/bwUTc2cK3oD3D8ljg8DexvsDAGJXoCAoNFLxKLMKsdf5"
    "r764zc3NwuOYQu23IZJ+y/5xLbNDTG8Di4d5OiSEVeTHENGh5Xog579WFHZq2z4bwYai8rsf7IljWbEraeoGAtZE+AYl1i6IaA7Pn251"
    "XwIDAQAB"
)

AIRTEL_MONEY = _private("""
-----BEGIN PRIVATE KEY-----
MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAMs8o52qb2A6Xz/8
pwssWv9vBRNzZwregPcPyWODwN7G+wMAYlegICg0UvEoswqx1/mvvrjNzc3C45hC
7bchkn7L/nEts0NMbwOLh3k6JIRV5McQ0aHleiDnv1YUdmrbPhvBhqLyux/siWNZ
sStp6gYC1kT4BiXWLohoDs+fbnVfAgMBAAECgYEAqZSjgT9hR43tRFrwlyYfl9tv
BNfaNvuJ6JzHkb2yBTFK6So85Ji7vFBMlOU838OdTr4SCenPu8zOU5IlABWHQcEG
b6U4J3wmPMF9FE0UnkKggVo4oQfKaURFR98c8frGSTvgiaAYsQ5UPQBGSLqfk6S6
ir/Z/JVxw4FWfKrCtSECQQDoJ1BY+lEi0pdckkFi9MCQJEbQknixyIEe18N9qhhe
9AjtfkK7luKSAnr2cy+hbl6ZqmvfpqTkrMlM6CIZYEt7AkEA4BzvTYrD0Jlw4oeI
bRnNcEGAvmlkHHn8JX3Yo+vLjIX6LM2lESxvp9bx4RUoGlAuSoaTquYVcP/lx2s5
NklWbQJBANOoXEnzVpwAEn4U3kaBTTtdx66LjDzSyF49a3+b4AJaTfVxgxgStdlX
J5KgbBGrVdaWGSncfkP7AMD8d3JZaBcCQQCvQ3GRvpdsJtM1FLEIQUl8JH2+a0Uz
T+J0n3owl1JTzuLa7ufMCmg3Zc07LQRzr4jEF4Kb/9t8x2K3FY9keO3xAkB/+qFJ
eZFWFRp05UbaH4QJnKXfrJ7WVCpOV8DCTCntXLDQp6gzgQskWOJglZFiDsHwC+Ro
kwBc9vB//7Kxt6V2
-----END PRIVATE KEY-----
""")

AIRTEL_MONEY_LONG_PUBLIC_KEY = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEApVXB1piMCTo0BzrXgd4O/pZydLVJ9mnqZ0/8DTh4o1+L6paw1ISvEHpTqvz1"
    "ntmyL4LoMkJR6eIc8UWzLRe0MmRsC95QDTRlfmKnyjqaVySPJEKGnVAkbnv8bNzD29GI6JYLpy0/MiEEdtobN5HKE+DJnGaWxI+Xr3e0"
    "D17kQmGJ8MONLF41DblNBBfHt7/lCKQUeEZbMQPo+Vw2ItAuBy8xJ7Dz8/kkOvR07UfGKVZB1NFAap95DIGk2dl3ZUw6ybq9lq6ibNbX"
    "1wJ8WNQ05y92JK9WGhXtZ3xWUGjPgNFj+TEcLhhtu2xmkcRHLuJ2hXRG8V52YUU0rmD3wzIo5QIDAQAB"
)

AIRTEL_MONEY_LONG = _private("""
-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQClVcHWmIwJOjQH
OteB3g7+lnJ0tUn2aepnT/wNOHijX4vqlrDUhK8QelOq/PWe2bIvgugyQlHp4hzx
RbMtF7QyZGwL3lANNGV+YqfKOppXJI8kQoadUCRue/xs3MPb0YjolgunLT8yIQR2
2hs3kcoT4MmcZpbEj5evd7QPXuRCYYnww40sXjUNuU0EF8e3v+UIpBR4RlsxA+j5
XDYi0C4HLzEnsPPz+SQ69HTtR8YpVkHU0UBqn3kMgaTZ2XdlTDrJur2WrqJs1tfX
AnxY1DTnL3Ykr1YaFe1nfFZQaM+A0WP5MRwuGG27bGaRxEcu4naFdEbxXnZhRTSu
YPfDMijlAgMBAAECggEAKtkZRby+GgwX/MGupUz/1NH3srBjDTXw1jp/54s5lJmI
ANFx3XnPhvU05szs+PCRQcfq1k+iu/rqJks6fta0UBT/fWntlCZ+oSz/MCVU532l
jS+ihHWHI40FY88pATiCA0kTlw1eYeb1qbmnsRSa6uDoTxy1ORa/qG1c4Fjmzh7f
gSTYgqlMSACJDzT5rI+TnF/fw22wrZuANFCbwpOt5IvULq2227fbXRD/Hesb16Vn
1eAuhmK32JCmXDKdm7SlCkGE9J6rxRwbcqiKOZyYKQRbjvnjhZ6opcfiaRziNZxn
qWK8bwL5R6+0fnXWlS2Y6G2mt5YmumTucuI5SoKAdwKBgQDR15IsQmaVyLLpRdGL
WgR8kqF0UnmPleDGl0R932BOzOGkxY50CbfJrryf2R/M4r2Kp8R8R9ly+UNUrBX2
bmbF1XURSOxT5MMLl3d1/vMy9Qpmb7wSsdXXh6AWWm0rhbGB13y0IRKIZUL3eObg
CJ7IB0o/S+1iNjTCnorTXsFLJwKBgQDJs/H3SQhoBEDc2u8vnTyOA9fkjMizl0al
6qzv4szXDCeo9+W4D7cENpXeCHqiooNKR6zgQLBcaBRUZsDgZDyHAU0u/QNsAl7V
83Ed6D/kkVk2F3UyRvHcwgQk4CF/e5nzscE4idUzFBV9gQa/D1nzNVFMm3Frs5L2
FdNCutrjEwKBgHZCLOiwiyvCrcF1TYBhPMIPyNnLWSKobsK8oSbm6lm+cTPw+jU+
/Mq2pSrYrGlFJ1iq77qyq0N2YpGnYcE9usGnaJBTLoyhEaLIu9RN2DVRj4jnU3Cd
tEwA7SFr2LZ8Y+suy+Kf+NfRaYoaItMDSKimIxvE6IU+00ETJF22uuxlAoGAe5wG
ZjhgqXYp1e9p87EVoiai0RKiEMVda2K1FtHUHNn7GCbLphAjZbaaA5cIqNCVSxk/
zbJ3Ijo6czsBasKjAU1/4pL13ORbAB0PrnddaJLWrDqV/PjTUimoZnzgqoKx51GB
C0gU2xesz9wZqU8cHdsH9r2wNYO4RY08icF/UPcCgYAFo1jJ4w295MgqFvMpBsVg
zQTfpEd4PTKZuBQMLeMfoXdz5SYyrCXfWu3WwIfdVIC0xriolTXQy54ebkKIioUU
6S1M+Q6YSlbABfooy7b37b6TcPvU4okjeuofwfcDPvFPdlVdymtvydU47n/IExoj
Q4cZSPg3jGi4yQ50LAmPtA==
-----END PRIVATE KEY-----
""")
