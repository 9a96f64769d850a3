"""What is kept: case files (``casefile``), campaigns and findings (``database``).

Nothing is imported here: reading a case file must not cost the import of SQLAlchemy.
"""
