def write_report(run, spec, trials):
    pass
