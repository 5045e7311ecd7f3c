"""The trainings that a comparison consists of."""

from workflow_rl.config import ComparisonConfig, PresetName, settings
from workflow_rl.train.job import TrainJob


@settings
class Plan(ComparisonConfig):
    """Everything a comparison depends on."""

    def job(self, preset: PresetName, seed: int) -> TrainJob:
        """Returns the training of a preset for a seed.

        Raises:
            InvalidInputError: so few transitions are not one update.
        """
        config = self.experiment(preset, seed)
        return TrainJob(
            game=config.game,
            ppo=config.ppo,
            train=config.train,
            seed=config.seed,
            order=self.order,
        )
