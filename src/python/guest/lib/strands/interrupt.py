"""A tool that asks a person. Nobody can be asked here."""


class InterruptException(Exception):
    def __init__(self, interrupt):
        super().__init__(f"the tool asks a person ({interrupt.name}), and nobody can be asked")
        self.interrupt = interrupt


class Interrupt:
    def __init__(self, id, name, reason=None, response=None):
        self.id = id
        self.name = name
        self.reason = reason
        self.response = response
