"""RSA keys of the gateways, which take a fifth of a second each."""

from malipo_simulator.gateways import rsa


def test_a_key_that_was_made_ahead_is_given_once() -> None:
    rsa.make_ahead(1)
    [made] = rsa._ahead
    assert rsa.new_private_key() == made
    assert rsa._ahead == []
    assert rsa.new_private_key() != made
