"""Prime factors and divisors of whole numbers, also of those with twenty digits."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

_TRIED = 1 << 10  # divisors that are tried one by one before primes are tested
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # exact below 3.3e24 (Sorenson, 2015)


@lru_cache(maxsize=4096)
def factorise(number: int) -> tuple[tuple[int, int], ...]:
    """Return pairs (prime, exponent) of a number's prime factors, ascending: 12 is 2^2 * 3."""
    factors: dict[int, int] = {}
    for prime in range(2, _TRIED):
        if prime * prime > number:
            break
        exponent = valuation(number, prime)
        if exponent:
            factors[prime] = exponent
            number //= prime**exponent
    for prime in _large_primes(number):
        factors[prime] = factors.get(prime, 0) + 1
    return tuple(sorted(factors.items()))


def divisors(number: int) -> tuple[int, ...]:
    """Return the divisors of a number, ascending."""
    found = [1]
    for prime, exponent in factorise(number):
        found = [d * prime**e for d in found for e in range(exponent + 1)]
    return tuple(sorted(found))


def valuation(number: int, prime: int) -> int:
    """Return how often a prime divides a number above 0: 2 divides 12 twice."""
    exponent = 0
    while number % prime == 0:
        number //= prime
        exponent += 1
    return exponent


def _large_primes(number: int) -> list[int]:
    """Return the prime factors of a number that has none below `_TRIED`, or is a prime itself."""
    if number == 1:
        return []
    if number < _TRIED**2 or _is_prime(number):
        return [number]
    part = _part(number)
    return _large_primes(part) + _large_primes(number // part)


def _is_prime(number: int) -> bool:
    """Test an odd number above the witnesses (Miller and Rabin)."""
    twos = valuation(number - 1, 2)
    odd = (number - 1) >> twos
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        if all((power := power * power % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True


def _part(number: int) -> int:
    """Return a factor of an odd number that is no prime (Pollard's rho, BIT 15, 1975)."""
    for step in range(1, number):
        slow = fast = 2
        found = 1
        while found == 1:
            slow = (slow * slow + step) % number
            fast = (fast * fast + step) % number
            fast = (fast * fast + step) % number
            found = gcd(abs(slow - fast), number)
        if found != number:
            return found
    return number
