"""The tables of the fabric: queues, routers, links, edge ports."""
