import { Skeleton } from '@patternfly/react-core/dist/dynamic/components/Skeleton';
import { useMemo } from 'react';
import type { GraphAnswer } from '../../../src/console/answers.ts';
import { Link } from '../../app/navigation.tsx';
import { useReading } from '../../data/use-reading.ts';
import { words } from '../../words/english.ts';
import { type Edge, placesOf } from './layout.ts';
import type { Reach, Target } from './targets.ts';

const said = words.update;

const box = { width: 150, height: 56, gapX: 80, gapY: 24, margin: 2 };

/** The versions at hand and the ways between them, as a picture; each version that is at hand is a link. */
export function Graph({
  targets,
  current,
}: {
  readonly targets: readonly Target[];
  readonly current: string;
}) {
  // Read again when other bundles are at hand.
  const at = targets.map(({ bundle }) => bundle.bundleDigest).join();
  const reading = useReading<GraphAnswer>('graph', at);
  const drawn = useMemo(
    () => (reading.at === 'read' ? draw(reading.value, targets) : undefined),
    [reading, targets],
  );
  if (reading.at === 'failed') {
    return (
      <p>
        {said.graphFailed} <span className="sluice-small">{reading.message}</span>
      </p>
    );
  }
  if (drawn === undefined) return <Skeleton screenreaderText={said.graphReading} height="6rem" />;
  const { places, edges, width, height } = drawn;
  const x = (column: number) => box.margin + column * (box.width + box.gapX);
  const y = (row: number) => box.margin + row * (box.height + box.gapY);
  return (
    <div className="sluice-wide">
      <div className="sluice-graph" style={{ inlineSize: width, blockSize: height }}>
        <svg width={width} height={height} aria-hidden="true" focusable="false">
          {edges.map(({ from, to }) => {
            const [x1, y1] = [x(from.column) + box.width, y(from.row) + box.height / 2];
            const [x2, y2] = [x(to.column), y(to.row) + box.height / 2];
            const bend = (x2 - x1) / 2;
            return (
              <path
                key={`${from.version} ${to.version}`}
                d={`M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2 - 6},${y2} m-6,-5 l6,5 l-6,5`}
                className={`sluice-edge ${from.version === current ? 'sluice-edge-current' : ''}`}
              />
            );
          })}
        </svg>
        <ul aria-label={said.graphLabel(current)}>
          {places.map(({ version, column, row, reach }) => (
            <li
              key={version}
              className={`sluice-version sluice-version-${reach}`}
              data-version={version}
              data-reach={reach}
              style={{
                insetInlineStart: x(column),
                insetBlockStart: y(row),
                inlineSize: box.width,
                blockSize: box.height,
              }}
            >
              {targets.some((each) => each.version === version) ? (
                <Link to={{ page: 'update', target: version }}>{version}</Link>
              ) : (
                <span>{version}</span>
              )}
              <span className="sluice-small">{said.graphStates[reach]}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function draw({ graph }: GraphAnswer, targets: readonly Target[]) {
  const versions = graph.nodes.map(({ version }) => version);
  const edges = graph.edges.flatMap(([from, to]): Edge[] => {
    const [a, b] = [versions[from], versions[to]];
    return a === undefined || b === undefined ? [] : [{ from: a, to: b }];
  });
  const reachOf = (version: string): Reach =>
    targets.find((target) => target.version === version)?.reach ?? 'past';
  const places = placesOf(versions, edges).map((place) => ({ ...place, reach: reachOf(place.version) }));
  const byVersion = new Map(places.map((place) => [place.version, place]));
  return {
    places,
    edges: edges.flatMap(({ from, to }) => {
      const [a, b] = [byVersion.get(from), byVersion.get(to)];
      return a === undefined || b === undefined ? [] : [{ from: a, to: b }];
    }),
    width:
      box.margin * 2 +
      (1 + Math.max(0, ...places.map(({ column }) => column))) * (box.width + box.gapX) -
      box.gapX,
    height:
      box.margin * 2 +
      (1 + Math.max(0, ...places.map(({ row }) => row))) * (box.height + box.gapY) -
      box.gapY,
  };
}
