"""Classes of the SDK that work with a model. Modules import and annotate with them; a tool has none."""


def elsewhere(name):
    def refuse(self, *_args, **_named):
        raise NotImplementedError(f"strands' {name} works with a model, which a tool does not have: it runs outside of the sandbox")

    return type(name, (), {"__init__": refuse, "__doc__": f"{name} runs outside of the sandbox."})
