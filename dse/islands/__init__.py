"""Islands: several searches of one study, each with a coordinator, that exchange their fronts."""
