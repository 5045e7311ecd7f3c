"""The facts of CAGE-2 Scenario2 as constants: network, exploits, decoys, Blue's actions."""
