from .servers import folder, postgresql, postgresql_programs

__all__ = ["folder", "postgresql", "postgresql_programs"]
