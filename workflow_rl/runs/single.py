"""One training in a directory of its own."""

import time

from workflow_rl.config import ExperimentConfig
from workflow_rl.files import write_json
from workflow_rl.runs.listener import Listener
from workflow_rl.runs.logs import CsvLog, Row, TensorBoardLog, write_episodes
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.training import (
    TrainingFolder,
    result_numbers,
    run_training,
    save_trained,
)
from workflow_rl.train.loop import TrainJob, TrainResult
from workflow_rl.workflow.orders import format_order


def workflow_named(config: ExperimentConfig, order: int | None) -> str:
    """Returns what is trained, in words."""
    if not config.train.conditioned:
        return "no workflow"
    return "all orders" if order is None else format_order(order)


def train_in_directory(
    directory: RunDirectory, order: int | None, listener: Listener
) -> TrainResult:
    """Trains one workflow, or all orders at once, in a directory of its own."""
    config = directory.config
    job = TrainJob(
        config.game, config.ppo, config.train, config.seed, order, backend=config.backend
    )
    log = CsvLog(directory.path / "training_log.csv")
    board = TensorBoardLog(directory.path / "tensorboard")
    started = time.perf_counter()

    def on_row(row: Row) -> None:
        log.append(row)
        board.add(row, row["transitions"], row["transitions"] / (time.perf_counter() - started))
        listener.updated(row)

    name = "training"
    listener.began(name, workflow_named(config, order))
    try:
        result = run_training(name, job, directory.trial(name), on_row)
    finally:
        board.close()
    save_trained(directory.policy("recommended"), job, result.best, result)
    episodes = TrainingFolder(directory.trial(name)).episodes.read()
    write_episodes(directory.path / "episodes.parquet", {name: episodes})
    summary = {
        "rules": config.game.rules,
        "workflow": None if order is None else format_order(order),
    }
    write_json(directory.path / "summary.json", summary | result_numbers(result))
    return result
