"""ApiCall: one public function by name, with JSON arguments and arrays of the job."""

from ..contract import Unsupported


def call_api(prefix, resolve, job, to_tensor):
    """Call the function the job names.

    The host has checked the name against the enumerated API; the prefix is checked again here.
    """
    name = job.subject["api"]
    if not name.startswith(prefix):
        raise Unsupported("this target runs {}*, not {}".format(prefix, name))
    try:
        function = resolve(name)
    except AttributeError:
        raise Unsupported("{} does not exist in this version".format(name))

    def value(argument):
        if isinstance(argument, dict) and list(argument) == ["$array"]:
            return to_tensor(job.inputs[argument["$array"]])
        if isinstance(argument, list):
            return [value(item) for item in argument]
        return argument

    args = [value(argument) for argument in job.subject["args"]]
    kwargs = {key: value(argument) for key, argument in job.subject["kwargs"].items()}
    return function(*args, **kwargs)
