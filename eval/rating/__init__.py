"""Rate the replies of runs, by people or by a chat model: the sheet, its raters, and what the ratings say."""
