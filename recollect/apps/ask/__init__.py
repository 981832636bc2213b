"""The SQL host: questions to a customer's database, answered with memory. What SQL means is in recollect/sql."""
