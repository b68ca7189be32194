"""The QR code of a link, and an A4 poster with it. It is a QR code of our address, and no TANQR."""

import io

import segno
from starlette.responses import Response

from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from malipo.http.public_url import public_url
from malipo.pay_pages import pay_page, render
from malipo.pay_pages.request import PACKAGE, PayRequest

_BORDER = 4  # modules of quiet around it, as the standard asks for


async def show_qr_code(request: PayRequest) -> Response:
    page = await pay_page.find(request)
    drawn = io.BytesIO()
    segno.make_qr(_address(request, page.link.code), error="m").save(
        drawn, kind="svg", border=_BORDER, dark="#000", light="#fff", svgclass=None, lineclass=None, omitsize=True
    )
    return Response(drawn.getvalue(), media_type="image/svg+xml", headers={"Cache-Control": "private, max-age=3600"})


async def show(request: PayRequest) -> Response:
    page = await pay_page.find(request)
    return render.page(
        request,
        "poster.html",
        merchant=page.merchant,
        link=page.link,
        address=_address(request, page.link.code),
        networks=[pay_page.NETWORKS[each] for each in pay_page.offered(request)],
        both=[Translator(each, PACKAGE) for each in (Language.KISWAHILI, Language.ENGLISH)],
    )


def _address(request: PayRequest, code: str) -> str:
    return f"{public_url(request.parts.settings, request.http)}/pay/{code}"
