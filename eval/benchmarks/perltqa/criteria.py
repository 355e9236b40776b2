"""PerLTQA's criteria of an answer: correctness and coherence, by a chat model (section 3.5, tables 3 and 6).

The paper has gpt-3.5-turbo score them after MemoryBank (Zhong et al. 2024), whose labels are 0, 0.5 and 1, and prints
neither the prompt nor the labels. The wording here is our own.
"""

from eval.types import Criterion

PERLTQA_CRITERIA = (
    Criterion(
        "correctness",
        "1 if it says what a right answer says, in any words; 0.5 if it says a part of it, or adds something wrong; "
        "0 if it says something else, or does not answer",
    ),
    Criterion(
        "coherence",
        "1 if it is clear and reads as one reply to this question, be it right or wrong; 0.5 if a part is unclear, "
        "repeated or beside the question; 0 if it makes no sense as a reply",
    ),
)
