"""The facts of CAGE-2 Scenario2 as constants: network, services, exploits, decoys, Blue's actions."""
