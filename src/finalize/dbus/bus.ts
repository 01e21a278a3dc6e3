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
  async function connectNow(gone: () => void): Promise<BusConnection> {
    const connection = await connectBus(path);
    open = connection;
    void connection.closed.then(gone);
    try {
      await ready(connection);
    } catch (error) {
      connection.close(); // It would follow half of what it should: the next who needs the bus tries anew.
      throw error;
    }
    return connection;
  }
  return {
    connection() {
      if (current !== undefined) return current;
      const forget = () => {
        if (current === attempt) current = undefined;
      };
      const attempt = connectNow(forget).catch((error) => {
        forget();
        throw error;
      });
      current = attempt;
      return attempt;
    },
    close: () => open?.close(),
  };
}
