from __future__ import annotations

from dashboard.agent.budget import Budget


def test_a_budget_covers_its_iterations_and_not_one_more() -> None:
    budget = Budget(max_iterations=3, start=1)
    assert [budget.capped(number) for number in (1, 2, 3, 4)] == [False, False, False, True]


def test_steps_count_from_the_round_that_read_the_last_message() -> None:
    budget = Budget(max_iterations=3, start=1).extend(3)
    assert (budget.step(3), budget.step(5)) == (1, 3)
    assert not budget.capped(5)
    assert budget.capped(6)


def test_resets_are_refused_after_max_iterations_of_them_and_the_count_goes_on() -> None:
    budget = Budget(max_iterations=2, start=1).extend(2).extend(3)
    assert not budget.refused
    refused = budget.extend(4)
    assert refused.refused
    assert (refused.start, refused.extensions) == (3, 2)


def test_the_warning_says_how_often_the_budget_was_reset() -> None:
    assert "2 times" in Budget(max_iterations=2, start=1, extensions=2).warning
