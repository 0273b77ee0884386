"""The sample of sentences: it is seeded, it draws from all kinds, and it shows prose alone."""

from collections import Counter

from tests.documentation.sample_sentences import all_sentences, sample, sentences_of


def test_a_seed_draws_the_same_sentences_again() -> None:
    assert sample(25, seed=1) == sample(25, seed=1) != sample(25, seed=2)


def test_sentences_are_of_all_kinds_and_hold_no_code() -> None:
    kinds = all_sentences()
    assert set(kinds) == {"page", "message", "docstring"} and min(map(len, kinds.values())) > 300
    assert Counter(sentence.kind for sentence in sample(24, seed=3)) == dict.fromkeys(kinds, 8)
    for sentences in kinds.values():
        assert not any(sentence.text.startswith((">>>", "$ ", "|", "```")) for sentence in sentences)


def test_a_text_is_cut_at_the_ends_of_its_sentences() -> None:
    text = "Prices add up, as do those of two calls. A [ledger](x.md) keeps the sum of all prices.\n\n- No sentence"
    assert list(sentences_of(text)) == [
        "Prices add up, as do those of two calls.",
        "A ledger keeps the sum of all prices.",
    ]


def test_a_cited_work_is_no_sentence_and_an_initial_ends_none() -> None:
    text = "Cai, T. T. (2005), One-sided confidence intervals, J. Statist. Plann. 131. The proof of J. Doe holds."
    assert list(sentences_of(text)) == ["The proof of J. Doe holds."]
