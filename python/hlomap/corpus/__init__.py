"""Analyzes many files into one dataset, exactly once, on any engine.

Start with :func:`hlomap.analyze_corpus`.  :mod:`~hlomap.corpus.plan` cuts the files that
:mod:`~hlomap.corpus.inputs` lists into shards; a worker of an engine turns a shard into its parts of the dataset
(:mod:`~hlomap.corpus.work`); :mod:`~hlomap.corpus.folder` publishes them.
"""
