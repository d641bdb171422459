// Sequelize: sync and alter, models, associations, transactions, its query interface.
import { DataTypes, Op, Sequelize, Transaction } from "sequelize";
import { check, refused, same, server, tls, version } from "./scenario.mjs";

version("sequelize");
const options = { dialect: "postgres", host: server.host, port: server.port, logging: false };
const open = (more = {}) => new Sequelize(server.database, server.user, server.password, { ...options, ...more });
await check("tls", "verified", async () => {
  const secure = open({ dialectOptions: { ssl: tls } });
  await secure.authenticate();
  await secure.close();
});
const db = open();
await check("connect", "with a password", () => db.authenticate());
const Author = db.define("author", {
  name: { type: DataTypes.STRING(80), allowNull: false, unique: true },
  mood: { type: DataTypes.ENUM("sad", "ok"), defaultValue: "ok" },
  notes: DataTypes.JSONB,
});
const Book = db.define("book", {
  id: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, primaryKey: true },
  title: { type: DataTypes.TEXT, comment: "as printed" },
  price: DataTypes.DECIMAL(10, 2),
  tags: DataTypes.ARRAY(DataTypes.TEXT),
}, { indexes: [{ fields: ["price", "title"] }, { unique: true, fields: ["authorId", "title"] }] });
Author.hasMany(Book, { onDelete: "CASCADE" });
Book.belongsTo(Author);
await check("migrations", "sync", () => db.sync());
await check("migrations", "sync again", () => db.sync());
await check("migrations", "sync with alter", async () => {
  Author.rawAttributes.country = { type: DataTypes.STRING(2), defaultValue: "no" };
  Author.refreshAttributes();
  await db.sync({ alter: true });
  same("country" in (await db.getQueryInterface().describeTable("authors")), true);
});
await check("migrations", "query interface", async () => {
  const change = db.getQueryInterface();
  await change.addColumn("books", "pages", { type: DataTypes.INTEGER, defaultValue: 1 });
  await change.changeColumn("books", "pages", { type: DataTypes.BIGINT });
  await change.renameColumn("books", "pages", "sheets");
  await change.addConstraint("books", { fields: ["sheets"], type: "check", where: { sheets: { [Op.gt]: 0 } }, name: "some" });
  await change.removeConstraint("books", "some");
  await change.removeColumn("books", "sheets");
});
await check("metadata", "tables, columns, indexes, foreign keys", async () => {
  const asks = db.getQueryInterface();
  same((await asks.showAllTables()).sort(), ["authors", "books"]);
  same((await asks.describeTable("books")).id.primaryKey, true);
  same((await asks.showIndex("books")).map((each) => each.name).sort(), ["books_author_id_title", "books_pkey", "books_price_title"]);
  same((await asks.getForeignKeyReferencesForTable("books"))[0].referencedTableName, "authors");
});
await check("queries", "create, include, group", async () => {
  await Author.create({ name: "Ann", notes: { a: [1] }, books: [1, 2, 3].map((n) => ({ title: `T${n}`, price: n, tags: ["x"] })) }, { include: Book });
  const ann = await Author.findOne({ where: { name: "Ann" }, include: { model: Book, where: { price: { [Op.gt]: 1 } } } });
  same(ann.books.length, 2);
  const [{ n }] = await Book.findAll({ attributes: [[db.fn("COUNT", db.col("id")), "n"]], group: ["authorId"], raw: true });
  same(n, "3");
  same((await Book.findAndCountAll({ limit: 1, order: [["price", "DESC"]] })).rows[0].title, "T3");
});
await check("queries", "JSON and arrays", async () => {
  same(await Author.count({ where: { "notes.a": { [Op.ne]: null } } }), 1);
  same(await Book.count({ where: { tags: { [Op.contains]: ["x"] } } }), 3);
});
await check("queries", "upsert, increment, findOrCreate", async () => {
  await Author.upsert({ name: "Ann", mood: "sad" }, { conflictFields: ["name"] });
  await Book.increment("price", { by: 2, where: { title: "T1" } });
  same((await Book.findOne({ where: { title: "T1" } })).price, "3.00");
  same((await Author.findOrCreate({ where: { name: "Cid" } }))[1], true);
  same((await Author.findOrCreate({ where: { name: "Cid" } }))[1], false);
});
await check("queries", "errors", () => refused(db.query("SELECT * FROM missing"), "42P01"));
await check("prepared", "bind parameters", async () =>
  same(await db.query("SELECT $1::int + $2::int AS s", { bind: [1, 2], plain: true }), { s: 3 }));
await check("types", "there and back", async () => {
  const made = await Book.create({ title: "né \"x' \\ 😀", price: "12.30", tags: ["a", 'b "c"'] });
  const { title, price, tags, createdAt } = await Book.findByPk(made.id);
  same([title, price, tags, createdAt], [made.title, "12.30", ["a", 'b "c"'], made.createdAt]);
});
await check("copy", "bulkCreate", async () => {
  await Book.bulkCreate(Array.from({ length: 300 }, (_, n) => ({ title: `B${n}`, price: n })));
  same(await Book.count(), 304);
});
await check("transactions", "managed, nested, isolation", async () => {
  await db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.REPEATABLE_READ }, async (transaction) => {
    await Author.create({ name: "Bob" }, { transaction });
    await db.transaction({ transaction }, (inner) => Author.create({ name: "Bob" }, { transaction: inner }))
      .catch((error) => same(error.name, "SequelizeUniqueConstraintError"));
  });
  same(await Author.count(), 3);
});
await check("transactions", "locks", () => db.transaction(async (transaction) =>
  same((await Author.findOne({ where: { name: "Bob" }, lock: transaction.LOCK.UPDATE, transaction })).name, "Bob")));
await check("migrations", "drop", () => db.drop({}));
await db.close();
