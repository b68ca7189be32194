"""The pages of customers in this process, on a real database, with links, payments and answers of networks step by
step."""

import pytest

from malipo.app.assemble import Service
from malipo.pay_pages.app import PayPages
from tests.conftest import Merchant
from tests.links.link_steps import LinkSteps
from tests.pay_pages.customer import Customer


@pytest.fixture
def steps(service: Service, merchant: Merchant) -> LinkSteps:
    return LinkSteps(service, merchant.id)


@pytest.fixture
def pages(service: Service) -> PayPages:
    return PayPages(service)


@pytest.fixture
def customer(pages: PayPages) -> Customer:
    return Customer(pages)


@pytest.fixture
def other(pages: PayPages) -> Customer:
    """Another browser."""
    return Customer(pages)
