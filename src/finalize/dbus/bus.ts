import { type BusConnection, connectBus } from './connection.ts';

/** A bus that is connected when it is needed, and again after it was gone. */
export interface Bus {
  /** Errors: Unreachable. */
  connection(): Promise<BusConnection>;
  close(): void;
}

/** @param ready called with each new connection, to follow signals and to take names again. */
export function createBus(path: string, ready: (connection: BusConnection) => Promise<void>): Bus {
  let current: Promise<BusConnection> | undefined;
  let open: BusConnection | undefined;
  return {
    connection() {
      current ??= connectBus(path).then(
        async (connection) => {
          open = connection;
          void connection.closed.then(() => {
            current = undefined;
          });
          await ready(connection);
          return connection;
        },
        (error) => {
          current = undefined;
          throw error;
        },
      );
      return current;
    },
    close: () => open?.close(),
  };
}
