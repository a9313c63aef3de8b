// The pages that "Load samples" makes: enough to search, to chain tools over, to move about, and one too big to read
// at once. The histories stand under one another nowhere: order and tree are for the person and the agent to change.

/** A page to be made. */
export interface Sample {
  title: string;
  content: string;
}

const DRAGONS = `Dragons breathe fire and hoard treasure.

Every tradition has its own. The dragons of the north sleep on gold under mountains; those of the east bring rain and live in rivers. What they share is patience: a dragon waits.

## What is said of them

| Kind | Lives in | Feared for |
|---|---|---|
| Wyrm | caves | its breath |
| Sea serpent | deep water | storms |
| Drake | forests | its temper |

- A hoard is counted every winter.
- A dragon never forgets a thief.

In [[History of Rome]] a dragon was a standard that the cavalry carried: a wolf's head of bronze with a sleeve of cloth that hissed in the wind.`;

const ROME = `Rome began as villages on seven hills above a ford of the Tiber. By tradition the city was founded in 753 BC; the kings were driven out in 509 BC and a republic took their place.

The republic ended in civil wars. Augustus ruled from 27 BC as the first emperor, and the western empire lasted until 476.

Roman writers learned from Greece: see [[History of Greece]].`;

const GREECE = `The Greek cities shared a language and gods, and agreed on little else. Athens gave its citizens a vote; Sparta gave its citizens a shield.

Alexander carried Greek speech as far as the Indus before he died in 323 BC. In Egypt his general Ptolemy founded a dynasty: see [[History of Egypt]].`;

const EGYPT = `Egypt is the gift of the Nile: each summer the river rose and left black soil behind. The two lands were united about 3100 BC.

The great pyramid of Giza was built for Khufu about 2560 BC. Cleopatra, the last of the Ptolemies, died in 30 BC, and Egypt became a province of Rome: see [[History of Rome]].`;

const CHAPTERS = [
  `Mira finds a brass key in the harbour market. The seller swears that it opens nothing.

She keeps it on a string round her neck. At night it is warm.`,
  `The key fits a door in the old lighthouse. Behind it a stair goes down, below the level of the sea.

Mira counts three hundred steps and then stops counting. Somebody has lit the lamps.`,
  `At the foot of the stair an old keeper waits. He has been guarding a sleeping dragon for sixty years, and he is tired.

Mira gives him the key and takes the lamp. The story is told further in [[Dragon Lore]].`,
];

/** More than 500 KB of text in numbered paragraphs, so that one sees how far a reader came. */
function large(): string {
  const line = "The ledger of the harbour lists every ship, its master, its cargo and the toll that was paid, one line for each day of the year.";
  const parts = ["This page is large on purpose: more than a tool result may hold. What the agent gets of it is cut, and says so."];
  for (let section = 1; parts.length < 4200; section += 1) {
    parts.push(`## Ledger ${section}`);
    for (let day = 1; day <= 40; day += 1) parts.push(`${section}.${day} ${line}`);
  }
  return parts.join("\n\n");
}

/** All samples, in the order in which they are made. */
export function samples(): Sample[] {
  return [
    { title: "Dragon Lore", content: DRAGONS },
    { title: "History of Rome", content: ROME },
    { title: "History of Greece", content: GREECE },
    { title: "History of Egypt", content: EGYPT },
    ...CHAPTERS.map((content, i) => ({ title: `Chapter ${i + 1}`, content })),
    { title: "Large Page", content: large() },
  ];
}
