import { readRefusal } from '../../../src/update/refusal.ts';
import { words } from '../../words/english.ts';

/** Why a request does not go through: each finding with what to do, or the cluster's words as they are. */
export function Refusal({ message }: { readonly message: string }) {
  const found = readRefusal(message);
  if (found === undefined) return <p className="sluice-said">{message}</p>;
  return (
    <ul className="sluice-lines">
      {found.map(({ name, message: said, next }) => (
        <li key={`${name} ${said}`}>
          <strong>{name}</strong>: <span className="sluice-said">{said}</span>
          {next === undefined ? null : (
            <p className="sluice-next">
              <strong>{words.checks.next}</strong> <span className="sluice-said">{next}</span>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
